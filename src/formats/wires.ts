import { wire as anthropicMessages } from './anthropic-messages/wire.ts'
import { wire as gemini } from './gemini/wire.ts'
import { wire as ollamaChat } from './ollama-chat/wire.ts'
import { wire as openaiChat } from './openai-chat/wire.ts'
import { wire as openaiResponses } from './openai-responses/wire.ts'
import type { Wire } from './wire/wire.ts'

/** The wires by name, and the one place that lists them. */
export const WIRES = {
  'anthropic-messages': anthropicMessages,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
  'ollama-chat': ollamaChat,
} as const satisfies Readonly<Record<string, Wire>>

export type WireFormat = keyof typeof WIRES

export const wires: readonly Wire[] = Object.values(WIRES)
