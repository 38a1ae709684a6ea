import type { Codec } from '../../src/core/codec.ts'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import { body as anthropic } from '../../src/formats/anthropic-messages/decode.ts'
import { body as converse } from '../../src/formats/bedrock-converse/decode.ts'
import { body as gemini } from '../../src/formats/gemini/decode.ts'
import { type Decoder, type Position, sourceOf } from '../../src/formats/kit/body.ts'
import { body as ollama } from '../../src/formats/ollama-chat/decode.ts'
import { body as chat } from '../../src/formats/openai-chat/decode.ts'
import { body as responses } from '../../src/formats/openai-responses/decode.ts'
import { codecOf } from '../../src/formats/registry.ts'
import type { WireName } from './generators/index.ts'

interface Half {
  readonly decode: (text: string, before?: Conversation) => Conversation
  readonly encode: Codec['encode']
  /** Where an item of a decoded body stands in its text. */
  readonly spanOf: (conversation: Conversation, item: Item) => Span
}

interface Span {
  readonly start: number
  readonly end: number
}

/** A picture has no place for words of its own on Ollama's wire: they go behind those of its message. */
export const isRewrittenInPlace = (wire: WireName, item: Item): boolean =>
  wire !== 'ollama-chat' || item.kind !== 'media'

const halfOf = <P extends Position>(body: Decoder<P>): Half => ({
  decode: body.decode,
  encode: codecOf(body.format).encode,
  spanOf: (conversation, item) => body.nodeAt(sourceOf(conversation).root, body.positionOf(item)!),
})

/** The reading and writing half of each codec. */
export const CODECS: Readonly<Record<WireName, Half>> = {
  'anthropic-messages': halfOf(anthropic),
  'bedrock-converse': halfOf(converse),
  gemini: halfOf(gemini),
  'ollama-chat': halfOf(ollama),
  'openai-chat': halfOf(chat),
  'openai-responses': halfOf(responses),
}
