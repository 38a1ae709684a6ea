import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { readResponse } from './response.ts'
import { checkOpenAiResponses } from './rules.ts'
import { stream } from './stream.ts'
import { endOfMessage, FORMAT, fieldsOf, fragmentOf, parsedMessages } from './source.ts'

export const openaiResponses: Codec = {
  format: FORMAT,
  decode,
  encode,
  fields: fieldsOf,
  messages: parsedMessages,
  endOf: endOfMessage,
  fragment: fragmentOf,
  check: checkOpenAiResponses,
  readResponse,
  stream,
}
