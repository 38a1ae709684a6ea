import { createHash } from 'node:crypto'
import type { CacheRule, CountedSegment, RequestFacts } from './types.ts'

export interface CacheUse {
  readonly read: number
  readonly write: number
  /** The part of `write` with the long lifetime. */
  readonly writeLong: number
}

// Anthropic searches at most this many blocks before a mark for a cached prefix.
const LOOK_BACK = 20

/** The hash of each prefix of a prompt: `chain[i]` covers segments 0 to i. */
export function chainOf(segments: readonly { readonly key: string; readonly section: string }[]): string[] {
  let hash = ''
  return segments.map(({ key, section }) => {
    hash = createHash('sha256').update(`${hash}${section}\0`).update(key).digest('base64')
    return hash
  })
}

/** A counted prompt with the hashes of its prefixes. */
export interface ChainedPrompt {
  readonly segments: readonly CountedSegment[]
  readonly chain: readonly string[]
}

interface Entry {
  expires: number
  readonly ttlMs: number
}

/** A provider's prompt cache, in tokens. The time is passed in. */
export function createPromptCache(rule: CacheRule) {
  const entries = new Map<string, Entry>()

  const live = (hash: string, now: number): Entry | undefined => {
    const entry = entries.get(hash)
    if (entry === undefined || entry.expires > now) return entry
    entries.delete(hash)
    return undefined
  }

  const put = (hash: string, ttlMs: number, now: number): void => {
    const kept = live(hash, now)
    // An entry written for an hour keeps that lifetime when it is read with a shorter mark.
    const longest = Math.max(ttlMs, kept?.ttlMs ?? 0)
    entries.set(hash, { expires: now + longest, ttlMs: longest })
  }

  const useMarks = (segments: readonly CountedSegment[], chain: readonly string[], now: number): CacheUse => {
    const ends = runningTotal(segments)
    const marks = segments.flatMap((segment, index) =>
      segment.mark === undefined || (ends[index] ?? 0) < rule.minimumTokens ? [] : [{ index, mark: segment.mark }],
    )
    let hit = -1
    for (const { index } of marks) {
      for (let at = index; at > Math.max(hit, index - LOOK_BACK - 1); at -= 1) {
        const hash = chain[at]
        const entry = hash === undefined ? undefined : live(hash, now)
        if (entry === undefined) continue
        entry.expires = now + entry.ttlMs
        hit = at
        break
      }
    }
    const read = hit === -1 ? 0 : (ends[hit] ?? 0)
    const lastLong = marks.findLast(({ mark }) => mark === 'long')
    const longEnd = lastLong === undefined ? 0 : (ends[lastLong.index] ?? 0)
    const end = ends[marks.at(-1)?.index ?? -1] ?? 0
    for (const { index, mark } of marks) {
      const ttl = mark === 'long' ? rule.longTtlSeconds : rule.shortTtlSeconds
      put(chain[index] ?? '', ttl * 1000, now)
    }
    return { read, write: Math.max(0, end - read), writeLong: Math.max(0, longEnd - read) }
  }

  const useAutomatic = (segments: readonly CountedSegment[], chain: readonly string[], now: number): CacheUse => {
    const ends = runningTotal(segments)
    let hit = -1
    while (hit + 1 < chain.length && live(chain[hit + 1] ?? '', now) !== undefined) hit += 1
    const shared = hit === -1 ? 0 : (ends[hit] ?? 0)
    for (const hash of chain) put(hash, rule.shortTtlSeconds * 1000, now)
    const read = Math.floor(shared / rule.blockTokens) * rule.blockTokens
    return { read: read < rule.minimumTokens ? 0 : read, write: 0, writeLong: 0 }
  }

  return {
    /**
     * Reads the cached part of a prompt and caches all of it. Each model has its own cache; settings that only affect the cached messages (tool
     * choice, thinking) leave tools and system cached when they change.
     */
    use(
      { model, cacheSalt = '' }: Pick<RequestFacts, 'model' | 'cacheSalt'>,
      prompt: ChainedPrompt,
      now: number,
    ): CacheUse {
      const keys = prompt.chain.map((hash, index) =>
        prompt.segments[index]?.section === 'messages' ? `${model} ${cacheSalt} ${hash}` : `${model} ${hash}`,
      )
      return rule.mode === 'marks' ? useMarks(prompt.segments, keys, now) : useAutomatic(prompt.segments, keys, now)
    },
  }
}

function runningTotal(segments: readonly CountedSegment[]): number[] {
  let total = 0
  return segments.map((segment) => (total += segment.tokens))
}
