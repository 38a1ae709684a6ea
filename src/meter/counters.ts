import type { Usage } from '../core/usage.ts'
import { isKnownUsage } from './usage.ts'

/** The counters of the ai-agent design, as a view: a session shows where its tokens stand between two requests. */
export interface Counters {
  /** Committed conversation: after a response, its whole input and output. */
  readonly current: number
  /** Waiting for the next request. */
  readonly pending: number
  /** Added since the turn began: tool results, replacement texts. */
  readonly fresh: number
  /** Declared tools. Part of `current` once a response measured them. */
  readonly schema: number
  /** For display only: reasoning is inside the output reserve. */
  readonly reasoning: number
  readonly schemaMeasured: boolean
}

export const startCounters = (seed: number, schema = 0): Counters => ({
  current: 0,
  pending: seed,
  fresh: 0,
  schema,
  reasoning: 0,
  schemaMeasured: false,
})

export const addFresh = (counters: Counters, tokens: number): Counters => ({
  ...counters,
  fresh: counters.fresh + Math.max(0, tokens),
})

/** Tools changed; what a response had measured of the old ones is out of date by the difference. */
export function setSchema(counters: Counters, schema: number): Counters {
  const change = counters.schemaMeasured ? schema - counters.schema : 0
  return { ...counters, schema, pending: Math.max(0, counters.pending + change) }
}

/** A request leaves: everything is committed at once, so that a retry commits nothing twice. */
export function commitRequest(counters: Counters): Counters {
  return { ...counters, current: counters.current + counters.pending + counters.fresh, pending: 0, fresh: 0 }
}

/** A response came: the measured numbers replace the committed estimate. Unknown usage changes nothing. */
export function settleResponse(counters: Counters, usage: Usage | undefined): Counters {
  if (!isKnownUsage(usage)) return counters
  return {
    ...counters,
    current: usage.input + usage.output,
    pending: 0,
    reasoning: usage.reasoning,
    schemaMeasured: true,
  }
}

/** The size of the next request, `extra` on top; the schema counts once, measured or estimated. */
export function projectedTokens(counters: Counters, extra = 0): number {
  const schema = counters.schemaMeasured ? 0 : counters.schema
  return counters.current + counters.pending + counters.fresh + schema + extra
}

/** Share of the window in percent, as it is shown to the model: never above 100. */
export function percentFull(counters: Counters, window: number): number {
  return window <= 0 ? 100 : Math.min(100, Math.round((projectedTokens(counters) / window) * 100))
}
