import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord } from '../../core/values.ts'
import { plainErrorIn } from '../kit/streams.ts'

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

/** What one event adds to an answer. Pieces of one part share its key. */
export interface AnswerPiece {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly key: string
  readonly text: string
  readonly id?: string
  readonly name?: string
}

/** Answers of one wire: ours in its shape, and what its events say. */
export interface Answers {
  /** A writer for one answer. */
  writer(): AnswerWriter
  /** What an event adds; events that add nothing give none. */
  pieces(event: Fields): readonly AnswerPiece[]
  /** Whether an event carries nothing of the answer yet. */
  isPreamble(event: Fields): boolean
  /** The error that an event or a whole body is about; undefined when it is about none. */
  errorIn(body: Fields): unknown
  /** An error in the vendor's shape: SDKs show anything else as "unknown error". */
  error(status: number, code: string, message: string): Fields
  /** The same inside a stream that has begun. */
  errorEvent(error: Fields): StreamEvent
  /** Whether the client asked for usage in its stream. */
  wantsUsage(body: string): boolean
}

/** Writes answers of one wire, whole or while they grow. Parts come one after another and are numbered from 0. */
export interface AnswerWriter {
  whole(head: AnswerHead, end: AnswerEnd): Fields
  /** Whether this wire's clients can be shown such a part; thinking without a signature is refused when it comes back. */
  shows(kind: AnswerPart['kind']): boolean
  begin(head: AnswerHead): readonly StreamEvent[]
  open(head: AnswerHead, part: AnswerPart, index: number): readonly StreamEvent[]
  grow(head: AnswerHead, part: AnswerPart, index: number, piece: string): readonly StreamEvent[]
  close(head: AnswerHead, part: AnswerPart, index: number): readonly StreamEvent[]
  end(head: AnswerHead, end: AnswerEnd): readonly StreamEvent[]
}

/** What most wires do alike: errors travel as they are, and usage is always told. */
export const PLAIN_ANSWERS: Pick<Answers, 'errorIn' | 'errorEvent' | 'wantsUsage'> = {
  errorIn: plainErrorIn,
  errorEvent: (error) => ({ data: JSON.stringify(error) }),
  wantsUsage: () => true,
}

/** A piece of text; nothing for what is none. */
export const piece = (kind: AnswerPiece['kind'], key: string, text: unknown): AnswerPiece[] =>
  typeof text === 'string' && text !== '' ? [{ kind, key, text }] : []

/** The beginning of a call. */
export const begun = (key: string, id: unknown, name: unknown, text = ''): AnswerPiece[] => [
  {
    kind: 'call',
    key,
    text,
    id: typeof id === 'string' && id !== '' ? id : undefined,
    name: typeof name === 'string' && name !== '' ? name : undefined,
  },
]

/** The word for a status in the errors of most vendors. */
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

export const argumentsOf = ({ text }: AnswerPart): Fields => {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
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
