import type { Wire } from '../recording.ts'
import { anthropicShape } from './anthropic.ts'
import { chatShape } from './chat.ts'
import { geminiShape } from './gemini.ts'
import { responsesShape } from './responses.ts'
import type { WireShape } from './shape.ts'

export const SHAPES: Readonly<Record<Wire, WireShape>> = {
  'anthropic-messages': anthropicShape,
  'openai-chat': chatShape,
  'openai-responses': responsesShape,
  gemini: geminiShape,
}
