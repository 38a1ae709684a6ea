import type { Violation } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import type { Answer } from './brain.ts'
import type { RefereeRequest, Route } from './types.ts'

/** How a request's prompt relates to the previous one in its lane. */
export interface PrefixReport {
  /** Number of the exchange that it is compared with. */
  readonly previous: number
  readonly segments: number
  readonly previousSegments: number
  /** Leading segments that both share. */
  readonly common: number
  readonly commonTokens: number
  /** The prompt does not continue the previous one: bytes that were already sent have changed. */
  readonly broke: boolean
  /** The first changed position, in this request. */
  readonly at?: string
}

/** One request and its outcome. */
export interface Exchange {
  /** Counted from 1, over all requests. */
  readonly number: number
  readonly kind: Route['kind'] | 'unknown'
  readonly lane: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that were received. */
  readonly raw: Uint8Array
  readonly body: unknown
  readonly violations: readonly Violation[]
  /** The referee's own count of the prompt. */
  readonly inputTokens: number
  readonly maxOutputTokens: number
  readonly window: number
  readonly overflow: boolean
  /** Tokens that silent truncation removed from the front. */
  readonly truncatedTokens: number
  readonly droppedBlocks: readonly string[]
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly cacheWriteLong: number
  readonly prefix?: PrefixReport
  readonly fault?: string
  readonly status: number
  readonly answer?: Answer
  /** The actual usage of the call, even if it was not reported. */
  readonly usage?: Usage
}

/** An exchange that is being processed. */
export type Draft = { -readonly [Key in keyof Exchange]: Exchange[Key] }

export const draftOf = (number: number, request: RefereeRequest, kind: Exchange['kind'], window: number): Draft => ({
  number,
  kind,
  lane: 'main',
  method: request.method,
  path: request.path,
  headers: request.headers,
  raw: request.body,
  body: undefined,
  violations: [],
  inputTokens: 0,
  maxOutputTokens: 0,
  window,
  overflow: false,
  truncatedTokens: 0,
  droppedBlocks: [],
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  status: 0,
})

export interface RefereeSummary {
  readonly requests: number
  readonly answered: number
  readonly overflows: number
  readonly invalid: number
  readonly faults: number
  readonly cacheBreaks: number
  readonly truncations: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly peakInputTokens: number
}

/** The figures that tests assert on. Only model calls count, not token counts and model lists. */
export function summarise(log: readonly Exchange[]): RefereeSummary {
  const calls = log.filter(({ kind }) => kind === 'generate' || kind === 'compact')
  const answered = calls.filter(({ usage }) => usage !== undefined)
  const sum = (value: (exchange: Exchange) => number): number => answered.reduce((total, one) => total + value(one), 0)
  return {
    requests: calls.length,
    answered: answered.length,
    overflows: calls.filter(({ overflow }) => overflow).length,
    invalid: calls.filter(({ violations }) => violations.length > 0).length,
    faults: calls.filter(({ fault }) => fault !== undefined).length,
    cacheBreaks: calls.filter(({ prefix }) => prefix?.broke === true).length,
    truncations: calls.filter(({ truncatedTokens }) => truncatedTokens > 0).length,
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ usage }) => usage?.output ?? 0),
    cacheRead: sum(({ cacheRead }) => cacheRead),
    cacheWrite: sum(({ cacheWrite }) => cacheWrite),
    peakInputTokens: calls.reduce((peak, { inputTokens }) => Math.max(peak, inputTokens), 0),
  }
}
