import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { readResponse } from './response.ts'
import { checkOpenAiResponses } from './rules.ts'
import { stream } from './stream.ts'
import { traits } from './traits.ts'
import { endOfMessage, FORMAT, fieldsOf, fragmentOf, parsedMessages } from './source.ts'

export const openaiResponses: Codec = {
  format: FORMAT,
  traits,
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
