import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, textOf, recordOf, parsedJson } from '../../core/values.ts'
import { plainErrorIn } from '../kit/streams.ts'

/** A part of an answer, independent of the wire. `text` is the text, the reasoning, or a call's arguments as JSON. */
export interface AnswerPart {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly text: string
  readonly id?: string
  readonly name?: string
}

/** An answer's metadata. */
export interface AnswerHead {
  /** Unique; becomes part of an id in the vendor's style. */
  readonly id: string
  readonly model: string
  readonly nowSeconds: number
  /** Whether a stream contains usage; on the chat wire only if the client asked for it. @default true */
  readonly withUsage?: boolean
}

export interface AnswerEnd {
  readonly parts: readonly AnswerPart[]
  readonly stop: StopReason
  readonly usage?: Usage
}

/** What one event adds to an answer. Pieces of one part have the same key. */
export interface AnswerPiece extends AnswerPart {
  readonly key: string
}

/** How a wire's answers are written and read. */
export interface Answers {
  writer(): AnswerWriter
  /** What an event adds to the answer; empty for other events. */
  pieces(event: Fields): readonly AnswerPiece[]
  /** Whether an event contains no content of the answer yet. */
  isPreamble(event: Fields): boolean
  /** The error in an event or body; undefined if there is none. */
  errorIn(body: Fields): unknown
  /** An error in the vendor's shape: SDKs show other shapes as "unknown error". */
  error(status: number, code: string, message: string): Fields
  /** The same within a stream that has begun. */
  errorEvent(error: Fields): StreamEvent
  /** Whether the client asked for usage in its stream. */
  wantsUsage(body: string): boolean
}

/** Writes one answer, as a whole or as a stream. Parts are numbered from 0 and written one after the other. */
export interface AnswerWriter {
  whole(head: AnswerHead, end: AnswerEnd): Fields
  /** Whether this wire's clients can be sent such a part. Thinking without a signature would be refused when it comes back. */
  shows(kind: AnswerPart['kind']): boolean
  begin(head: AnswerHead): readonly StreamEvent[]
  open(head: AnswerHead, part: AnswerPart, index: number): readonly StreamEvent[]
  grow(head: AnswerHead, part: AnswerPart, index: number, piece: string): readonly StreamEvent[]
  close(head: AnswerHead, part: AnswerPart, index: number): readonly StreamEvent[]
  end(head: AnswerHead, end: AnswerEnd): readonly StreamEvent[]
}

/** What most wires share: errors are sent unchanged, and usage is always included. */
export const PLAIN_ANSWERS: Pick<Answers, 'errorIn' | 'errorEvent' | 'wantsUsage'> = {
  errorIn: plainErrorIn,
  errorEvent: (error) => ({ data: JSON.stringify(error) }),
  wantsUsage: () => true,
}

/** A piece of text; empty if the value is not a text. */
export const piece = (kind: AnswerPiece['kind'], key: string, text: unknown): AnswerPiece[] =>
  typeof text === 'string' && text !== '' ? [{ kind, key, text }] : []

export const callPiece = (key: string, id: unknown, name: unknown, text = ''): AnswerPiece[] => [
  { kind: 'call', key, text, id: textOf(id) || undefined, name: textOf(name) || undefined },
]

/** The error type for a status at most vendors. */
export function errorTypeOf(status: number): string {
  if (status === 413) return 'request_too_large'
  if (status === 401) return 'authentication_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}

export const isCall = (part: AnswerPart): boolean => part.kind === 'call'

export const joined = (parts: readonly AnswerPart[], kind: AnswerPart['kind']): string =>
  parts
    .filter((part) => part.kind === kind)
    .map((part) => part.text)
    .join('')

export const argumentsOf = ({ text }: AnswerPart): Fields =>
  recordOf(parsedJson(text)) ?? (text.trim() === '' ? {} : { input: text })

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
