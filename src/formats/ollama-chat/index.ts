import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode, envelope } from './encode.ts'
import { readResponse } from './response.ts'
import { checkOllamaChat } from './rules.ts'
import { endOfMessage, fieldsOf, FORMAT, fragmentOf, listIn, parsedMessages, quotedOf, withMessages } from './source.ts'
import { stream } from './stream.ts'
import { traits } from './traits.ts'

export const ollamaChat: Codec = {
  format: FORMAT,
  traits,
  decode: (text) => decode(text),
  encode,
  fields: (conversation) => fieldsOf(conversation),
  incremental: { decode, messages: parsedMessages, endOf: endOfMessage, withMessages, listIn, envelope },
  fragment: fragmentOf,
  quoted: quotedOf,
  check: checkOllamaChat,
  readResponse,
  stream,
}
