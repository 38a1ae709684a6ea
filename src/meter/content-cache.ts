/** A bounded memory that forgets what was not used for longest. Values are addressed by text, so equal content is counted once. */
export interface ContentCache<V> {
  /** `scope` keeps apart what was worked out for one text in several ways. */
  get(scope: string, text: string): V | undefined
  set(scope: string, text: string, value: V): void
  readonly size: number
}

export interface ContentCacheOptions {
  /** @default 10000 */
  readonly entries?: number
  /** Characters of all texts together, and what each takes beside its own; longer ones would otherwise be held in memory without a bound. @default 8 million */
  readonly characters?: number
}

interface Entry<V> {
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
  const alike = new Map<string, Entry<V>[]>()
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
      const found = group?.find((entry) => entry.text === text)
      if (found === undefined) return undefined
      // A Map keeps the order of insertion: moving to the end makes the first one the oldest in use.
      alike.delete(probe)
      alike.set(probe, group!)
      return found.value
    },
    set(scope, text, value) {
      const probe = probeOf(scope, text)
      const group = alike.get(probe) ?? []
      const found = group.find((entry) => entry.text === text)
      if (found !== undefined) {
        found.value = value
        return
      }
      // A copy: a stretch of a longer text would keep all of that in memory.
      group.push({ text: ` ${text}`.slice(1), value })
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

function probeOf(scope: string, text: string): string {
  const { length } = text
  if (length <= 4 * PROBE) return `${scope}\n${text}`
  const middle = length >> 1
  return `${scope}\n${length} ${text.slice(0, PROBE)}${text.slice(middle, middle + PROBE)}${text.slice(-PROBE)}`
}
