import { parsedJson } from '../../core/values.ts'
import { SYSTEM_TENANT } from '../../core/handles.ts'
import { BoundedMap, jointKey } from '../../util/bounded-map.ts'
import type { LearnedLimit } from '../../core/target.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore } from '../../ports/session-store.ts'

/** Where something was learned, and by whom: two customers of one provider may have different windows. */
export interface LearnedPlace {
  readonly tenant: string
  readonly endpoint: string
  readonly model: string
}

/** How it was learned: a refusal named the number, or counts stood still while requests grew. */
export type LearnedFrom = 'refusal' | 'silent-truncation'

interface Lesson extends Omit<LearnedPlace, 'tenant'>, LearnedLimit {
  readonly from: LearnedFrom
  readonly at: number
}

interface LearnedEntry extends LearnedPlace, Lesson {
  /** It is forgotten then, and the next large request finds out again. */
  readonly until: number
}

/** What was taken without complaint. */
interface AcceptedPrompt {
  /** As the provider counted them. */
  readonly tokens?: number
  readonly bytes?: number
}

/**
 * What endpoints taught about their models. A lesson is never below what the same endpoint has accepted, nor below any real server's
 * window; it lowers what is aimed at and is no reason to refuse a request.
 */
export interface LearnedLimits {
  of(place: LearnedPlace): Promise<LearnedLimit | undefined>
  /** False when it contradicts what this endpoint has accepted, or is no window at all. */
  learn(place: LearnedPlace, limit: LearnedLimit, from: LearnedFrom): Promise<boolean>
  /** A larger prompt than the lesson says ends the lesson. */
  accepted(place: LearnedPlace, prompt: AcceptedPrompt): Promise<void>
  /** Everything that holds now, of one tenant or of all. */
  list(filter?: Partial<LearnedPlace>): Promise<readonly LearnedEntry[]>
  /** How many were forgotten. */
  forget(filter?: Partial<LearnedPlace>): Promise<number>
}

interface LearnedLimitsOptions {
  /** A lesson is forgotten after this long: servers are restarted with larger windows. @default 24 hours */
  readonly ttlMs?: number
  /** The same for one that was only inferred. @default 6 hours */
  readonly inferredTtlMs?: number
  /** How long a look into the store holds; another process may have learned or forgotten meanwhile. @default 30 seconds */
  readonly freshMs?: number
}

/** Smaller numbers are no window of any server, and no limit of bytes. */
const LEAST_WINDOW = 1_024
const LEAST_BYTES = 16_384

const MOST_TENANTS = 10_000
/** Lessons of one tenant; the oldest goes first. */
const MOST_LESSONS = 200
const TENANTS_KEY = 'learned-limits-tenants'
const KEY = 'learned-limits'

export function learnedLimits(
  store: Pick<SessionStore, 'getValue' | 'setValue'>,
  clock: Clock,
  options: LearnedLimitsOptions = {},
): LearnedLimits {
  const { ttlMs = 24 * 3_600_000, inferredTtlMs = 6 * 3_600_000, freshMs = 30_000 } = options
  const known = new BoundedMap<string, { readonly lessons: readonly Lesson[]; readonly readAt: number }>(MOST_TENANTS)
  const largest = new BoundedMap<string, Required<AcceptedPrompt>>(MOST_TENANTS)
  const endOf = ({ at, from }: Lesson): number => at + (from === 'refusal' ? ttlMs : inferredTtlMs)

  async function lessonsOf(tenant: string): Promise<readonly Lesson[]> {
    let found = known.get(tenant)
    if (found === undefined || clock.now() - found.readAt >= freshMs) {
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
      for (const tenant of await wanted(filter)) {
        for (const lesson of await lessonsOf(tenant)) {
          if (matches(lesson, filter)) entries.push({ tenant, ...lesson, until: endOf(lesson) })
        }
      }
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

/** What cannot be read was never learned. */
function readLessons(text = ''): readonly Lesson[] {
  const lessons = parsedJson(text)
  return Array.isArray(lessons) ? (lessons as Lesson[]) : []
}
