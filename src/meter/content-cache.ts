/** A bounded map that forgets what was not used for longest. Values are addressed by text, so equal content is counted once. */
export interface ContentCache<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  readonly size: number
}

export interface ContentCacheOptions {
  /** @default 20000 */
  readonly entries?: number
  /** Characters of all keys together; longer texts would otherwise be held in memory without a bound. @default 32 million */
  readonly characters?: number
}

export function createContentCache<V>(options: ContentCacheOptions = {}): ContentCache<V> {
  const { entries = 20_000, characters = 32_000_000 } = options
  const values = new Map<string, V>()
  let held = 0

  function evict(): void {
    for (const key of values.keys()) {
      if (values.size <= entries && held <= characters) return
      values.delete(key)
      held -= key.length
    }
  }

  return {
    get(key) {
      const value = values.get(key)
      if (value !== undefined) {
        // A Map keeps the order of insertion: moving to the end makes the first key the oldest in use.
        values.delete(key)
        values.set(key, value)
      }
      return value
    },
    set(key, value) {
      if (!values.delete(key)) held += key.length
      values.set(key, value)
      evict()
    },
    get size() {
      return values.size
    },
  }
}
