import type { Dialect, Wire } from '../types.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { bedrockConverse, claudeOnBedrock } from './bedrock-converse.ts'
import { gemini } from './gemini.ts'
import { ollamaChat } from './ollama-chat.ts'
import { openAiChat } from './openai-chat.ts'
import { openAiResponses } from './openai-responses.ts'

const dialects: Readonly<Record<Wire, Dialect>> = {
  'anthropic-messages': anthropicMessages,
  'openai-chat': openAiChat,
  'openai-responses': openAiResponses,
  gemini,
  'ollama-chat': ollamaChat,
  'bedrock-converse': bedrockConverse,
}

/** What a wire says, and how, where a profile of it is served. */
export const dialectOf = (wire: Wire, profile = ''): Dialect =>
  wire === claudeOnBedrock.wire && profile.split(',').includes('invoke-model') ? claudeOnBedrock : dialects[wire]
