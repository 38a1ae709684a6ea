import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'

/** A part of an answer in words that every wire has. `text` is what was said, thought, or the arguments of a call as JSON. */
export interface AnswerPart {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly text: string
  /** Of a call. */
  readonly id?: string
  readonly name?: string
}

/** What an answer says about itself. */
export interface AnswerHead {
  /** Unique; becomes part of the vendor-style id. */
  readonly id: string
  readonly model: string
  readonly nowSeconds: number
  /** A chat client gets usage in a stream only if it asked. @default true */
  readonly withUsage?: boolean
}

export interface AnswerEnd {
  readonly parts: readonly AnswerPart[]
  readonly stop: StopReason
  readonly usage?: Usage
}

/** Writes answers of one wire, whole or while they grow. Parts come one after another and are numbered from 0. */
export interface AnswerWriter {
  whole(head: AnswerHead, end: AnswerEnd): Fields
  /** Whether this wire's clients can be shown such a part; thinking that nobody signed is refused when it comes back. */
  shows(kind: AnswerPart['kind']): boolean
  begin(head: AnswerHead): readonly StreamEvent[]
  open(head: AnswerHead, part: AnswerPart, index: number): readonly StreamEvent[]
  grow(head: AnswerHead, part: AnswerPart, index: number, piece: string): readonly StreamEvent[]
  close(head: AnswerHead, part: AnswerPart, index: number): readonly StreamEvent[]
  end(head: AnswerHead, end: AnswerEnd): readonly StreamEvent[]
}

export type Fields = Readonly<Record<string, unknown>>

export const isCall = (part: AnswerPart): boolean => part.kind === 'call'

export const joined = (parts: readonly AnswerPart[], kind: AnswerPart['kind']): string =>
  parts
    .filter((part) => part.kind === kind)
    .map((part) => part.text)
    .join('')

export const argumentsOf = ({ text }: AnswerPart): Fields => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  } catch {
    // Said below.
  }
  return text.trim() === '' ? {} : { input: text }
}

/** All events of an answer that is there already. */
export function eventsOf(writer: AnswerWriter, head: AnswerHead, end: AnswerEnd): StreamEvent[] {
  const shown = end.parts.filter((part) => writer.shows(part.kind))
  return [
    ...writer.begin(head),
    ...shown.flatMap((part, index) => [
      ...writer.open(head, { ...part, text: '' }, index),
      ...(part.text === '' ? [] : writer.grow(head, part, index, part.text)),
      ...writer.close(head, part, index),
    ]),
    ...writer.end(head, { ...end, parts: shown }),
  ]
}
