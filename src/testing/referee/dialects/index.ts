import type { Dialect } from '../types.ts'
import { anthropicMessages } from './anthropic-messages.ts'

export const dialects: Readonly<Record<string, Dialect>> = {
  'anthropic-messages': anthropicMessages,
}
