import type { Codec } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import { anthropicMessages } from './anthropic-messages/index.ts'
import { gemini } from './gemini/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'

export { detectFormat } from './detect.ts'
export { createSseParser, formatSseEvent } from './framing/sse.ts'
export { classifyProviderError } from './overflow/index.ts'

/** The wires by name. */
export const CODECS = {
  'anthropic-messages': anthropicMessages,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gemini,
} as const satisfies Readonly<Record<string, Codec>>

/** The same, for code that is handed its codecs. */
export const codecs: ReadonlyMap<string, Codec> = new Map(Object.entries(CODECS))

export type WireFormat = keyof typeof CODECS

/** @throws PlimsollError with code `unsupported` for a name that is no wire. */
export function codecOf(format: string): Codec {
  if (Object.hasOwn(CODECS, format)) return CODECS[format as WireFormat]
  throw new PlimsollError('unsupported', `There is no wire format called ${format}.`, {
    advice: `Use one of ${Object.keys(CODECS).join(', ')}.`,
    fields: { format },
  })
}
