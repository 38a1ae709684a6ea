import { parsedJson } from '../../core/values.ts'
import { SYSTEM_TENANT } from '../../core/handles.ts'
import { BoundedMap, jointKey } from '../../util/bounded-map.ts'
import type { LearnedLimit, Target } from '../../core/target.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { MOST_OF_WINDOW } from '../../meter/index.ts'

/** A model at an endpoint, for one tenant: two customers of a provider may have different windows. */
export interface LearnedPlace {
  readonly tenant: string
  readonly endpoint: string
  readonly model: string
}

/** `refusal`: an error named the limit. `silent-truncation`: counts did not grow with the requests. */
export type LearnedFrom = 'refusal' | 'silent-truncation'

interface Lesson extends Omit<LearnedPlace, 'tenant'>, LearnedLimit {
  readonly from: LearnedFrom
  readonly at: number
}

export interface LearnedEntry extends LearnedPlace, Lesson {
  /** When it expires. The next large request learns it again. */
  readonly until: number
}

interface AcceptedPrompt {
  readonly tokens?: number
  readonly bytes?: number
}

/**
 * Limits learned from endpoints. A learned limit is never below a prompt that the same endpoint accepted, nor below any real server's window. It
 * lowers the target of compaction and is no reason to refuse a request.
 */
export interface LearnedLimits {
  of(place: LearnedPlace): Promise<LearnedLimit | undefined>
  /** False when the endpoint has accepted more, or the number is too small for a window. */
  learn(place: LearnedPlace, limit: LearnedLimit, from: LearnedFrom): Promise<boolean>
  /** Forgets the limit when the accepted prompt is larger. */
  accepted(place: LearnedPlace, prompt: AcceptedPrompt): Promise<void>
  list(filter?: Partial<LearnedPlace>): Promise<readonly LearnedEntry[]>
  forget(filter?: Partial<LearnedPlace>): Promise<number>
}

/** A limit expires after this time: servers are restarted with larger windows. */
const TTL_MS = 24 * 3_600_000
/** The same for a limit that was only inferred. */
const INFERRED_TTL_MS = 6 * 3_600_000
/** How long a read of the store is cached; other processes may learn or forget meanwhile. */
const FRESH_MS = 30_000
/** Smaller numbers are neither a window nor a body limit of any server. */
const LEAST_WINDOW = 1_024
const LEAST_BYTES = 16_384

const MOST_TENANTS = 10_000
/** Limits of one tenant; the oldest is removed first. */
const MOST_LESSONS = 200
const TENANTS_KEY = 'learned-limits-tenants'
const KEY = 'learned-limits'

export function learnedLimits(store: Pick<SessionStore, 'getValue' | 'setValue'>, clock: Clock): LearnedLimits {
  const known = new BoundedMap<string, { readonly lessons: readonly Lesson[]; readonly readAt: number }>(MOST_TENANTS)
  const largest = new BoundedMap<string, Required<AcceptedPrompt>>(MOST_TENANTS)
  const endOf = ({ at, from }: Lesson): number => at + (from === 'refusal' ? TTL_MS : INFERRED_TTL_MS)

  async function lessonsOf(tenant: string): Promise<readonly Lesson[]> {
    let found = known.get(tenant)
    if (found === undefined || clock.now() - found.readAt >= FRESH_MS) {
      found = { lessons: readLessons(await store.getValue(tenant, KEY)), readAt: clock.now() }
      known.set(tenant, found)
    }
    return found.lessons.filter((lesson) => clock.now() <= endOf(lesson))
  }

  async function keep(tenant: string, lessons: readonly Lesson[]): Promise<void> {
    known.set(tenant, { lessons, readAt: clock.now() })
    await store.setValue(tenant, KEY, JSON.stringify(lessons))
  }

  async function tenants(): Promise<readonly string[]> {
    const text = await store.getValue(SYSTEM_TENANT, TENANTS_KEY)
    return text === undefined ? [] : (JSON.parse(text) as string[])
  }

  const wanted = async ({ tenant }: Partial<LearnedPlace>): Promise<readonly string[]> =>
    tenant === undefined ? tenants() : [tenant]

  return {
    async of({ tenant, ...place }) {
      const found = (await lessonsOf(tenant)).find((lesson) => matches(lesson, place))
      return found && { window: found.window, bodyBytes: found.bodyBytes }
    },
    async learn({ tenant, endpoint, model }, limit, from) {
      const before = largest.get(keyOf({ tenant, endpoint, model }))
      const { window, bodyBytes } = limit
      if (window !== undefined && window < Math.max(LEAST_WINDOW, before?.tokens ?? 0)) return false
      if (bodyBytes !== undefined && bodyBytes < Math.max(LEAST_BYTES, before?.bytes ?? 0)) return false
      const lessons = await lessonsOf(tenant)
      const isSame = (lesson: Lesson): boolean => matches(lesson, { endpoint, model })
      const lesson: Lesson = { ...lessons.find(isSame), ...limit, endpoint, model, from, at: clock.now() }
      await keep(tenant, [...lessons.filter((one) => !isSame(one)), lesson].slice(-MOST_LESSONS))
      const all = await tenants()
      if (!all.includes(tenant))
        await store.setValue(SYSTEM_TENANT, TENANTS_KEY, JSON.stringify([...all.slice(-MOST_TENANTS + 1), tenant]))
      return true
    },
    async accepted(place, { tokens = 0, bytes = 0 }) {
      const { tenant, ...where } = place
      const key = keyOf(place)
      const before = largest.get(key) ?? { tokens: 0, bytes: 0 }
      if (tokens <= before.tokens && bytes <= before.bytes) return
      const most = { tokens: Math.max(tokens, before.tokens), bytes: Math.max(bytes, before.bytes) }
      largest.set(key, most)
      const lessons = await lessonsOf(tenant)
      const left = lessons.filter(
        (lesson) =>
          !matches(lesson, where) ||
          (most.tokens <= (lesson.window ?? Infinity) && most.bytes <= (lesson.bodyBytes ?? Infinity)),
      )
      if (left.length < lessons.length) await keep(tenant, left)
    },
    async list(filter = {}) {
      const entries: LearnedEntry[] = []
      for (const tenant of await wanted(filter))
        for (const lesson of await lessonsOf(tenant))
          if (matches(lesson, filter)) entries.push({ tenant, ...lesson, until: endOf(lesson) })
      return entries
    },
    async forget(filter = {}) {
      let count = 0
      for (const tenant of await wanted(filter)) {
        const lessons = await lessonsOf(tenant)
        const left = lessons.filter((lesson) => !matches(lesson, filter))
        count += lessons.length - left.length
        if (left.length < lessons.length) await keep(tenant, left)
      }
      return count
    },
  }
}

const keyOf = ({ tenant, endpoint, model }: LearnedPlace): string => jointKey(tenant, jointKey(endpoint, model))

const matches = (lesson: Lesson, { endpoint, model }: Partial<LearnedPlace>): boolean =>
  (endpoint === undefined || lesson.endpoint === endpoint) && (model === undefined || lesson.model === model)

/** Unreadable text counts as no limits. */
function readLessons(text = ''): readonly Lesson[] {
  const lessons = parsedJson(text)
  return Array.isArray(lessons) ? (lessons as Lesson[]) : []
}

/** A provider's refusal because of a request's size. */
export interface SizeRefusal {
  readonly kind: 'overflow' | 'body-size'
  /** The limit, if the refusal names it: tokens of the window, or bytes. */
  readonly limit?: number
  readonly input?: number
  /** The output cap, where it was counted with the prompt. */
  readonly output?: number
}

/** Our own measures of the refused request. */
interface RefusedRequest {
  /** Upper bound of its tokens. */
  readonly tokens: number
  readonly outputReserve: number
  readonly bytes: number
  /** What fitted by our own numbers, where the window behind them is known and not assumed. */
  readonly limitTokens?: number
  /** The request contains everything that the provider counts. @default true */
  readonly isWhole?: boolean
}

interface RefusalLesson {
  /** The limit of the endpoint for all conversations; absent when the refusal may have another reason. */
  readonly learned?: LearnedLimit
  /** The limit for this conversation from now on, in the provider's tokens; empty where none is new, absent when a smaller history would not help. */
  readonly retry?: LearnedLimit
  /** Prompt tokens of the request, by the refusal or at least by what it means; absent where the limit explains it. */
  readonly counted?: number
}

/** A refusal without numbers: this share of the size is tried next. */
const GUESS = 0.75
/** The same for bytes, which are mostly pictures and long results: a smaller step would often fail again. */
const GUESS_BYTES = 0.5
/** A request that fills less than this of a known window was not refused because its own count was wrong. */
const NEARLY_FULL = 0.7
/** Numbers outside this range are not windows. */
const PLAUSIBLE = [1_024, 100_000_000] as const

/**
 * A window is learned only from a number in the refusal, and only when our own count was above it too: otherwise the refusal is about content that we
 * cannot see, or our count is wrong. What the provider counted is told of this one request, and lowers no limit. The conversation is made smaller
 * whenever that can help.
 */
export function lessonOf({ kind, limit, input, output }: SizeRefusal, sent: RefusedRequest): RefusalLesson {
  const { tokens, outputReserve, bytes, limitTokens, isWhole = true } = sent
  if (kind === 'body-size') {
    const learned = limit === undefined || limit >= bytes ? undefined : { bodyBytes: limit }
    return { learned, retry: learned ?? { bodyBytes: Math.floor(bytes * GUESS_BYTES) } }
  }
  const named = limit !== undefined && limit >= PLAUSIBLE[0] && limit <= PLAUSIBLE[1] ? limit : undefined
  if (named !== undefined) {
    const isAbove = tokens + outputReserve > named
    const learned = isWhole && isAbove ? { window: named } : undefined
    // The prompt alone would have fitted.
    const holdsOutput = input !== undefined && input <= named && output !== undefined && input + output > named
    const retry = holdsOutput ? { window: named, holdsOutput } : { window: named }
    return { learned, retry, counted: input ?? (isAbove ? undefined : named / GUESS) }
  }
  if (input !== undefined || (limitTokens !== undefined && tokens >= limitTokens * NEARLY_FULL))
    return { retry: {}, counted: input ?? limitTokens! / GUESS }
  return { retry: { window: windowFor(tokens * GUESS, outputReserve) } }
}

/** The window that fits this many prompt tokens and the output reserve. */
function windowFor(promptTokens: number, outputReserve: number): number {
  const shared = promptTokens / (1 - MOST_OF_WINDOW)
  return Math.floor(outputReserve >= shared ? shared : promptTokens + outputReserve)
}

/** The target for a conversation after a refusal; stronger than a window that is set, and than learned limits. */
export function within(target: Target, { window, bodyBytes, holdsOutput }: LearnedLimit): Target {
  const { learned, heldWithin } = target
  return {
    ...target,
    heldWithin: lesser(window, heldWithin),
    learned: {
      ...learned,
      bodyBytes: lesser(bodyBytes, learned?.bodyBytes),
      holdsOutput: holdsOutput ?? learned?.holdsOutput,
    },
  }
}

const lesser = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
