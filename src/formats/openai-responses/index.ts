import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode, envelope } from './encode.ts'
import { held } from './held.ts'
import { readResponse } from './response.ts'
import { checkOpenAiResponses } from './rules.ts'
import { stream } from './stream.ts'
import { traits } from './traits.ts'
import { endOfMessage, fieldsOf, FORMAT, fragmentOf, listIn, parsedMessages, quotedOf, withMessages } from './source.ts'

export const openaiResponses: Codec = {
  format: FORMAT,
  traits,
  decode: (text) => decode(text),
  encode,
  fields: (conversation) => fieldsOf(conversation),
  incremental: { decode, messages: parsedMessages, endOf: endOfMessage, withMessages, listIn, envelope },
  held,
  fragment: fragmentOf,
  quoted: quotedOf,
  check: checkOpenAiResponses,
  readResponse,
  stream,
}
