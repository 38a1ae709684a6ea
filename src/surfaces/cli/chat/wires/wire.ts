import type { ChatRequest } from '../../../../formats/wire/chat.ts'

/** How a chat speaks one wire. Reading answers is the codec's; this is what a codec does not do: making requests. */
export interface ChatWire {
  readonly format: string
  path(model: string): string
  body(request: ChatRequest): string
  /** The visible text in one event of a stream. */
  textIn(event: Readonly<Record<string, unknown>>): string
  /** Collects what must be sent back exactly; undefined where text and calls say it all. */
  keeper?(): { push(event: Readonly<Record<string, unknown>>): void; value(): unknown }
}

type Json = Readonly<Record<string, unknown>>

export const recordOf = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
