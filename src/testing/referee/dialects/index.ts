import type { Dialect, Wire } from '../types.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { gemini } from './gemini.ts'
import { ollamaChat } from './ollama-chat.ts'
import { openAiChat } from './openai-chat.ts'
import { openAiResponses } from './openai-responses.ts'

export const dialects: Readonly<Record<Wire, Dialect>> = {
  'anthropic-messages': anthropicMessages,
  'openai-chat': openAiChat,
  'openai-responses': openAiResponses,
  gemini,
  'ollama-chat': ollamaChat,
}
