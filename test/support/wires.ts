import type { Codec } from '../../src/core/codec.ts'
import * as anthropicDecode from '../../src/formats/anthropic-messages/decode.ts'
import * as anthropicEncode from '../../src/formats/anthropic-messages/encode.ts'
import * as chatDecode from '../../src/formats/openai-chat/decode.ts'
import * as chatEncode from '../../src/formats/openai-chat/encode.ts'
import * as responsesDecode from '../../src/formats/openai-responses/decode.ts'
import * as responsesEncode from '../../src/formats/openai-responses/encode.ts'
import type { WireName } from './generators/index.ts'

/** The reading and writing half of each codec. */
export const CODECS: Readonly<Record<WireName, Pick<Codec, 'decode' | 'encode'>>> = {
  'anthropic-messages': { ...anthropicDecode, ...anthropicEncode },
  'openai-chat': { ...chatDecode, ...chatEncode },
  'openai-responses': { ...responsesDecode, ...responsesEncode },
}
