import type { LearnedLimit, Target } from '../../core/target.ts'
import { isRecord, numberOf, stringOf } from '../../core/values.ts'
import { lessonOf, type SizeRefusal } from '../../engine/learning/size-refusal.ts'
import { within } from '../../engine/learning/within.ts'
import type { PreparedTurn } from '../../engine/prepare/prepare.ts'
import { classifyProviderError } from '../../formats/registry.ts'

/** What refusals taught one session: each learns for itself, another one may be another owner's. */
export interface SizeRefusals {
  /** Where the next call goes, no larger than what fits since the last refusal. */
  targetOf(model: string): Target
  /** Whether an error is a refusal because of the size that a smaller request may not get. If so, `targetOf` is smaller from now on. */
  learn(turn: Pick<PreparedTurn, 'load' | 'limit' | 'text'>, model: string, error: unknown): boolean
}

const HELD = new WeakMap<object, Map<string, LearnedLimit>>()

export function sizeRefusals(session: object, window: number | undefined): SizeRefusals {
  const held = HELD.get(session) ?? new Map<string, LearnedLimit>()
  HELD.set(session, held)
  return {
    targetOf(model) {
      const target = { model, ...(window !== undefined && { window }) }
      const limit = held.get(model)
      return limit === undefined ? target : within(target, limit)
    },
    learn({ load, limit, text }, model, error) {
      const refusal = sizeRefusalIn(error)
      if (refusal === undefined) return false
      const sent = { tokens: load.count.high, outputReserve: limit.outputReserve, bytes: Buffer.byteLength(text) }
      const { retry } = lessonOf(refusal, sent)
      if (retry === undefined) return false
      held.set(model, retry)
      return true
    },
  }
}

/** Errors inside errors that are looked at. */
const MOST_CAUSES = 5

/** A provider's refusal because of the size, in an error of a framework. */
function sizeRefusalIn(error: unknown): SizeRefusal | undefined {
  let one = typeof error === 'string' ? { message: error } : error
  for (let depth = 0; depth < MOST_CAUSES && isRecord(one); depth++) {
    const status = numberOf(one['statusCode']) ?? numberOf(one['status'])
    const body = stringOf(one['responseBody']) ?? one['error'] ?? stringOf(one['message'])
    const { kind, limit, input } = classifyProviderError({ ...(status !== undefined && { status }), body })
    if (kind === 'overflow' || kind === 'body-size')
      return { kind, ...(limit !== undefined && { limit }), ...(input !== undefined && { input }) }
    one = one['cause'] ?? one['lastError']
  }
  return undefined
}
