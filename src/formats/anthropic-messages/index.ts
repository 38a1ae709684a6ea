import type { Codec } from '../../core/codec.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'
import { placeCacheMarks } from './place-marks.ts'
import { readResponse } from './response.ts'
import { checkAnthropicMessages } from './rules.ts'
import { stream } from './stream.ts'
import { FORMAT, fragmentOf } from './wire.ts'

export const anthropicMessages: Codec = {
  format: FORMAT,
  decode,
  encode,
  fragment: fragmentOf,
  check: checkAnthropicMessages,
  placeCacheMarks,
  readResponse,
  stream,
}
