import type { Codec } from '../../src/core/codec.ts'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import * as anthropicDecode from '../../src/formats/anthropic-messages/decode.ts'
import * as anthropicWire from '../../src/formats/anthropic-messages/decode.ts'
import * as anthropicEncode from '../../src/formats/anthropic-messages/encode.ts'
import * as geminiDecode from '../../src/formats/gemini/decode.ts'
import * as geminiWire from '../../src/formats/gemini/decode.ts'
import * as geminiEncode from '../../src/formats/gemini/encode.ts'
import * as ollamaDecode from '../../src/formats/ollama-chat/decode.ts'
import * as ollamaWire from '../../src/formats/ollama-chat/decode.ts'
import * as ollamaEncode from '../../src/formats/ollama-chat/encode.ts'
import * as chatDecode from '../../src/formats/openai-chat/decode.ts'
import * as chatWire from '../../src/formats/openai-chat/decode.ts'
import * as chatEncode from '../../src/formats/openai-chat/encode.ts'
import * as responsesDecode from '../../src/formats/openai-responses/decode.ts'
import * as responsesWire from '../../src/formats/openai-responses/decode.ts'
import * as responsesEncode from '../../src/formats/openai-responses/encode.ts'
import type { WireName } from './generators/index.ts'

interface Half extends Pick<Codec, 'decode' | 'encode'> {
  /** Where an item of a decoded body stands in its text. */
  readonly spanOf: (conversation: Conversation, item: Item) => { readonly start: number; readonly end: number }
}

/** A picture has no place for words of its own on Ollama's wire: they go behind those of its message. */
export const isRewrittenInPlace = (wire: WireName, item: Item): boolean =>
  wire !== 'ollama-chat' || item.kind !== 'media'

/** The reading and writing half of each codec. */
export const CODECS: Readonly<Record<WireName, Half>> = {
  'anthropic-messages': {
    ...anthropicDecode,
    ...anthropicEncode,
    spanOf: (conversation, item) =>
      anthropicWire.nodeAt(anthropicWire.sourceOf(conversation).root, anthropicWire.placeOf(item)!),
  },
  gemini: {
    ...geminiDecode,
    ...geminiEncode,
    spanOf: (conversation, item) =>
      geminiWire.nodeAt(geminiWire.sourceOf(conversation).body, geminiWire.placeOf(item)!),
  },
  'ollama-chat': {
    ...ollamaDecode,
    ...ollamaEncode,
    spanOf: (conversation, item) =>
      ollamaWire.nodeAt(ollamaWire.sourceOf(conversation).root, ollamaWire.placeOf(item)!),
  },
  'openai-chat': {
    ...chatDecode,
    ...chatEncode,
    spanOf: (conversation, item) => chatWire.nodeAt(chatWire.sourceOf(conversation).root, chatWire.placeOf(item)!),
  },
  'openai-responses': {
    ...responsesDecode,
    ...responsesEncode,
    spanOf: (conversation, item) =>
      responsesWire.nodeAt(responsesWire.sourceOf(conversation).root, responsesWire.placeOf(item)!),
  },
}
