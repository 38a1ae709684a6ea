import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode, envelope } from './encode.ts'
import { nativeBetas } from './native.ts'
import { placeCacheMarks } from './place-marks.ts'
import { readResponse } from './response.ts'
import { checkAnthropicMessages } from './rules.ts'
import { stream } from './stream.ts'
import { traits } from './traits.ts'
import { endOfMessage, fieldsOf, FORMAT, fragmentOf, listIn, parsedMessages, quotedOf, withMessages } from './source.ts'

export const anthropicMessages: Codec = {
  format: FORMAT,
  traits,
  decode: (text) => decode(text),
  encode,
  fields: (conversation) => fieldsOf(conversation),
  incremental: { decode, messages: parsedMessages, endOf: endOfMessage, withMessages, listIn, envelope },
  fragment: fragmentOf,
  quoted: quotedOf,
  check: checkAnthropicMessages,
  placeCacheMarks,
  nativeHeaders(body): Readonly<Record<string, string>> {
    const betas = nativeBetas(body)
    return betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }
  },
  readResponse,
  stream,
}
