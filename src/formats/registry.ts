import type { Codec } from '../core/codec.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { gemini } from './gemini/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'

/** Every wire by its name. */
export const codecs: ReadonlyMap<string, Codec> = new Map(
  [anthropicMessages, openaiChat, openaiResponses, gemini].map((codec) => [codec.format, codec]),
)
