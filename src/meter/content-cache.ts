/** A bounded memory that forgets what was not used for longest. Values are addressed by text, so equal content is counted once. */
export interface ContentCache<V> {
  /** `scope` keeps apart what was worked out for one text in several ways. */
  get(scope: string, text: string): V | undefined
  /** `isOwn`: the text is no stretch of a longer one, which would be kept in memory with it; else it is copied. @default false */
  set(scope: string, text: string, value: V, isOwn?: boolean): void
  readonly size: number
}

export interface ContentCacheOptions {
  /** @default 10000 */
  readonly entries?: number
  /** Characters of all texts together, and what each takes beside its own; longer ones would otherwise be held in memory without a bound. @default 8 million */
  readonly characters?: number
}

interface Entry<V> {
  readonly scope: string
  readonly text: string
  value: V
}

/** Texts that look alike to the probe and are kept; a hostile client can make as many of them as it likes. */
const MOST_ALIKE = 8
/** How full a cache of many texts is once it had to forget some. */
const MANY = 1_000
const EVICT_TO = 0.9

/**
 * Found by a probe and then compared: the language's own map would hash every character of every text, which takes longer than to
 * count some of them.
 */
export function createContentCache<V>(options: ContentCacheOptions = {}): ContentCache<V> {
  const { entries = 10_000, characters = 8_000_000 } = options
  const alike = new Map<number, Entry<V>[]>()
  let size = 0
  let held = 0

  function forget(group: Entry<V>[], count: number): void {
    for (const { text } of group.splice(0, count)) {
      held -= weightOf(text)
      size--
    }
  }

  /** Some at a time: a map from which the first entry was taken again and again looks longer and longer for its first one. */
  function evict(): void {
    if (size <= entries && held <= characters) return
    const aim = size < MANY ? 1 : EVICT_TO
    for (const [probe, group] of alike) {
      if (size <= entries * aim && held <= characters * aim) return
      forget(group, group.length)
      alike.delete(probe)
    }
  }

  return {
    get(scope, text) {
      const probe = probeOf(scope, text)
      const group = alike.get(probe)
      const found = group?.find((entry) => entry.text === text && entry.scope === scope)
      if (found === undefined) return undefined
      // A Map keeps the order of insertion: moving to the end makes the first one the oldest in use.
      alike.delete(probe)
      alike.set(probe, group!)
      return found.value
    },
    set(scope, text, value, isOwn = false) {
      const probe = probeOf(scope, text)
      const group = alike.get(probe) ?? []
      const found = group.find((entry) => entry.text === text && entry.scope === scope)
      if (found !== undefined) {
        found.value = value
        return
      }
      group.push({ scope, text: isOwn ? text : ` ${text}`.slice(1), value })
      size++
      held += weightOf(text)
      if (group.length > MOST_ALIKE) forget(group, 1)
      alike.set(probe, group)
      evict()
    },
    get size() {
      return size
    },
  }
}

/** What an entry takes beside its text, as characters: its count, its place in the map and the probe. */
const ENTRY_CHARACTERS = 400

const weightOf = (text: string): number => text.length + ENTRY_CHARACTERS

const PROBE = 16
const PRIME = 0x01000193

/** A number by which most texts differ; of a long one its beginning, middle and end are looked at. */
function probeOf(scope: string, text: string): number {
  const { length } = text
  const start = mixed(length, scope, 0, scope.length)
  if (length <= 4 * PROBE) return mixed(start, text, 0, length)
  const middle = length >> 1
  return mixed(mixed(mixed(start, text, 0, PROBE), text, middle, middle + PROBE), text, length - PROBE, length)
}

function mixed(probe: number, text: string, from: number, to: number): number {
  let sum = probe
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ text.charCodeAt(at), PRIME)
  return sum
}
