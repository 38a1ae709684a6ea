import { BoundedMap } from '../../lib/bounded-map.ts'
import type { LearnedLimit } from '../../core/target.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'

/** What a provider said when it refused a request for its size. */
export interface SizeRefusal {
  readonly kind: 'overflow' | 'body-size'
  /** What fits, where the refusal names it: tokens of the window, or bytes. */
  readonly limit?: number
  /** Prompt tokens as the provider counted them. */
  readonly input?: number
}

/** What we had thought of the request that was refused. */
export interface RefusedRequest {
  /** Upper bound of its tokens. */
  readonly tokens: number
  readonly outputReserve: number
  readonly bytes: number
}

/** A refusal without numbers only says "less than this"; this share of it is tried next. */
const GUESS = 0.75
/** Bytes are mostly pictures and long results: a smaller step would often fail again. */
const GUESS_BYTES = 0.5
/** `limitOf` holds back a quarter of a window that is smaller than the model's own output cap. */
const SHARE_FOR_OUTPUT = 0.25

/** The limit to hold from now on. A count of ours that was too low makes the limit smaller by the same factor. */
export function lessonOf(refusal: SizeRefusal, sent: RefusedRequest): LearnedLimit {
  if (refusal.kind === 'body-size') return { bodyBytes: Math.floor(refusal.limit ?? sent.bytes * GUESS_BYTES) }
  if (refusal.limit === undefined || refusal.limit <= 0) {
    return { window: windowFor(sent.tokens * GUESS, sent.outputReserve) }
  }
  const undercounted = Math.max(1, (refusal.input ?? 0) / Math.max(1, sent.tokens))
  return { window: Math.floor(refusal.limit / undercounted) }
}

/** The window in which so many prompt tokens fit beside the output reserve. */
function windowFor(promptTokens: number, outputReserve: number): number {
  const shared = promptTokens / (1 - SHARE_FOR_OUTPUT)
  return Math.floor(outputReserve >= shared ? shared : promptTokens + outputReserve)
}

/** What endpoints taught us about their models, per tenant: two customers of one provider may have different windows. */
export interface LearnedLimits {
  of(place: LearnedPlace): Promise<LearnedLimit | undefined>
  learn(place: LearnedPlace, lesson: LearnedLimit): Promise<void>
}

export interface LearnedPlace {
  readonly tenant: string
  readonly endpoint: string
  readonly model: string
}

export interface LearnedLimitsOptions {
  /** A lesson is forgotten after this long: servers are restarted with larger windows. @default 24 hours */
  readonly ttlMs?: number
  /** How long a look into the store holds; another process may have learned meanwhile. @default 30 seconds */
  readonly freshMs?: number
}

const MOST_KNOWN = 10_000

export function learnedLimits(
  sessions: Pick<SessionStore, 'getValue' | 'setValue'>,
  clock: Clock,
  options: LearnedLimitsOptions = {},
): LearnedLimits {
  const { ttlMs = 24 * 3_600_000, freshMs = 30_000 } = options
  const known = new BoundedMap<string, { readonly lesson: Stored | undefined; readonly readAt: number }>(MOST_KNOWN)
  const remember = (key: string, lesson: Stored | undefined): void => {
    known.set(key, { lesson, readAt: clock.now() })
  }
  const current = (lesson: Stored | undefined): LearnedLimit | undefined => {
    if (lesson === undefined || clock.now() - lesson.at > ttlMs) return undefined
    const { at: _, ...limit } = lesson
    return limit
  }
  return {
    async of(place) {
      const key = keyOf(place)
      const found = known.get(`${place.tenant}\n${key}`)
      if (found !== undefined && clock.now() - found.readAt < freshMs) return current(found.lesson)
      const text = await sessions.getValue(place.tenant, key)
      const lesson = text === undefined ? undefined : (JSON.parse(text) as Stored)
      remember(`${place.tenant}\n${key}`, lesson)
      return current(lesson)
    },
    async learn(place, lesson) {
      const key = keyOf(place)
      const stored: Stored = { ...(await this.of(place)), ...lesson, at: clock.now() }
      remember(`${place.tenant}\n${key}`, stored)
      await sessions.setValue(place.tenant, key, JSON.stringify(stored))
    },
  }
}

interface Stored extends LearnedLimit {
  readonly at: number
}

const keyOf = ({ endpoint, model }: LearnedPlace): string => `learned-limit:${JSON.stringify([endpoint, model])}`
