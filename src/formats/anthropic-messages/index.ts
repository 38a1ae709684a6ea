import type { Codec } from '../../core/codec.ts'
import { rawText } from '../json-index.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { readResponse } from './response.ts'
import { checkAnthropicMessages } from './rules.ts'
import { stream } from './stream.ts'
import { FORMAT, placeOf, sourceOf } from './wire.ts'

export const anthropicMessages: Codec = {
  format: FORMAT,
  decode,
  encode,
  fragment(conversation, item) {
    const place = placeOf(item)
    return place === undefined ? '' : rawText(sourceOf(conversation).text, place.node)
  },
  check: checkAnthropicMessages,
  readResponse,
  stream,
}
