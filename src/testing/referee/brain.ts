import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { StopReason } from '../../core/codec.ts'
import { type Fields, parsedJson } from '../../core/values.ts'

/** One part of the model's answer. */
export type AnswerPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string; readonly redacted?: boolean }
  | { readonly type: 'call'; readonly name: string; readonly input: Fields; readonly id?: string }
  | { readonly type: 'refusal'; readonly text: string }

export interface Answer {
  readonly parts: readonly AnswerPart[]
  /** @default follows from the parts */
  readonly stop?: StopReason
}

export interface BrainTurn {
  /** Number of the answered request, from 1. Refused and faulted requests do not count, so a retry gets the same answer. */
  readonly number: number
  readonly body: Fields
  readonly model: string
  readonly lane: string
  readonly inputTokens: number
  readonly tools: readonly string[]
}

/** The fake model's answers: a list with one per request, or a function of the request. */
export type Script = readonly Answer[] | ((turn: BrainTurn) => Answer)

export const say = (text: string): Answer => ({ parts: [{ type: 'text', text }] })

export const call = (name: string, input: Fields = {}, text?: string): Answer => calls([{ name, input }], text)

/** An answer with parallel calls, after an optional text. */
export function calls(
  list: readonly { readonly name: string; readonly input?: Fields; readonly id?: string }[],
  text?: string,
): Answer {
  return {
    parts: [
      ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
      ...list.map(({ name, input = {}, id }) => ({
        type: 'call' as const,
        name,
        input,
        id,
      })),
    ],
  }
}

export const think = (text: string, then: Answer): Answer => ({
  ...then,
  parts: [{ type: 'reasoning', text }, ...then.parts],
})

export const refuse = (text = 'I cannot help with that.'): Answer => ({
  parts: [{ type: 'refusal', text }],
  stop: 'refusal',
})

/** An answer that exceeds any output cap. */
export const overlong = (word = 'and so on '): Answer => say(word.repeat(200_000))

const DEFAULT_ANSWER = say('Done.')

export function answerOf(script: Script | undefined, turn: BrainTurn): Answer {
  if (script === undefined) return DEFAULT_ANSWER
  return typeof script === 'function' ? script(turn) : (script[turn.number - 1] ?? DEFAULT_ANSWER)
}

export type SummarizerHabit =
  | 'natural'
  | 'length'
  | 'empty'
  | 'reasoning-only'
  | 'tool-call'
  | 'refusal'
  | 'longer-than-source'
  | 'echo'

/** A model that is asked for a summary and misbehaves in a way that real models did. */
export function summarizerBrain(habit: SummarizerHabit, summary = 'The user asked for X; X is half done.'): Script {
  return (turn) => {
    switch (habit) {
      case 'natural':
        return say(summary)
      case 'length':
        return { parts: [{ type: 'text', text: summary.slice(0, Math.ceil(summary.length / 2)) }], stop: 'length' }
      case 'empty':
        return { parts: [], stop: 'end' }
      case 'reasoning-only':
        return { parts: [{ type: 'reasoning', text: summary }], stop: 'end' }
      case 'tool-call':
        return call(turn.tools[0] ?? 'bash', { command: 'ls' })
      case 'refusal':
        return refuse()
      case 'longer-than-source':
        return say(JSON.stringify(turn.body).repeat(2))
      case 'echo':
        return say(JSON.stringify(turn.body))
    }
  }
}

/** The stop reason of an answer whose script names none. */
export function stopOf(answer: Answer): StopReason {
  if (answer.stop !== undefined) return answer.stop
  if (answer.parts.some((part) => part.type === 'refusal')) return 'refusal'
  return answer.parts.some((part) => part.type === 'call') ? 'tool-use' : 'end'
}

/** Cuts an answer at the output cap as the provider does: within a text, never within a call. */
export function trimAnswer(answer: Answer, maxTokens: number, countTokens: (text: string) => number): Answer {
  const parts: AnswerPart[] = []
  let left = maxTokens
  for (const part of answer.parts) {
    const text = part.type === 'call' ? part.name + JSON.stringify(part.input) : part.text
    const tokens = countTokens(text)
    if (tokens <= left) {
      parts.push(part)
      left -= tokens
      continue
    }
    const kept = part.type === 'call' ? '' : cutToFit(text, left, countTokens)
    if (part.type !== 'call' && kept !== '') parts.push({ ...part, text: kept })
    return { parts, stop: 'length' }
  }
  return answer
}

/** A text's tokens per character change with its length, so the first, proportional cut may still be too long. */
function cutToFit(text: string, limit: number, countTokens: (text: string) => number): string {
  let kept = wholeCharacters(text.slice(0, Math.floor((text.length * limit) / countTokens(text))))
  while (kept !== '' && countTokens(kept) > limit) kept = wholeCharacters(kept.slice(0, Math.floor(kept.length * 0.95)))
  return kept
}

const wholeCharacters = (text: string): string => text.replace(/[\uD800-\uDBFF]$/, '')

export function outputOf(
  answer: Answer,
  countTokens: (text: string) => number,
): { readonly output: number; readonly reasoning: number } {
  let output = 0
  let reasoning = 0
  for (const part of answer.parts) {
    const tokens = countTokens(part.type === 'call' ? part.name + JSON.stringify(part.input) : part.text)
    output += tokens
    if (part.type === 'reasoning') reasoning += tokens
  }
  return { output, reasoning }
}

/** Ids in a vendor's style, the same in every run with the same seed. */
export function createIds(seed: number) {
  return {
    of(prefix: string, exchange: number, part = 0): string {
      const digest = createHash('sha256').update(`${seed}:${prefix}:${exchange}:${part}`).digest('base64url')
      return `${prefix}_${digest.replace(/[-_]/g, 'x').slice(0, 24)}`
    },
  }
}

/** Seals opaque content, so that changed content or another issuer's is recognised. */
export interface Issuer {
  readonly name: string
  seal(content: string, binding?: Binding): string
  open(seal: string): OpenedSeal | undefined
}

/** Reads a seal's content without the key; only the issuer can verify it. */
export function peekSeal(seal: string): Binding | undefined {
  const text = Buffer.from(seal, 'base64').toString()
  return parsedJson(text.slice(text.indexOf('.') + 1)) as Binding | undefined
}

export interface Binding {
  readonly model?: string
  /** Hash of everything before the sealed block. */
  readonly prefix?: string
  /** The number of tokens of the sealed content, which the client cannot count. */
  readonly tokens?: number
}

export interface OpenedSeal extends Binding {
  matches(content: string): boolean
}

/** Issuers of the same name share their key, also across processes, so a restarted referee accepts its earlier seals. */
export function createIssuer(name: string): Issuer {
  const mac = (text: string): Buffer => createHmac('sha256', `plimsoll-referee:${name}`).update(text).digest()
  return {
    name,
    seal(content, binding = {}) {
      const claim = JSON.stringify({ ...binding, content: mac(content).toString('base64url') })
      return Buffer.from(`${mac(claim).toString('base64url')}.${claim}`).toString('base64')
    },
    open(seal) {
      const text = Buffer.from(seal, 'base64').toString()
      // The seal must be the exact text that was issued: base64 with other padding or white space is not.
      if (Buffer.from(text).toString('base64') !== seal) return undefined
      const dot = text.indexOf('.')
      const claim = text.slice(dot + 1)
      const given = Buffer.from(text.slice(0, Math.max(0, dot)), 'base64url')
      const expected = mac(claim)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      const { content, ...binding } = JSON.parse(claim) as Binding & { readonly content: string }
      return { ...binding, matches: (candidate) => mac(candidate).toString('base64url') === content }
    },
  }
}
