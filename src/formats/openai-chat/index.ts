import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode, envelope } from './encode.ts'
import { readResponse } from './response.ts'
import { checkOpenAiChat } from './rules.ts'
import { stream } from './stream.ts'
import { traits } from './traits.ts'
import { endOfMessage, fieldsOf, FORMAT, fragmentOf, listIn, parsedMessages, quotedOf, withMessages } from './source.ts'

export const openaiChat: Codec = {
  format: FORMAT,
  traits,
  decode: (text) => decode(text),
  encode,
  fields: (conversation) => fieldsOf(conversation),
  incremental: { decode, messages: parsedMessages, endOf: endOfMessage, withMessages, listIn, envelope },
  fragment: fragmentOf,
  quoted: quotedOf,
  check: checkOpenAiChat,
  readResponse,
  stream,
}
