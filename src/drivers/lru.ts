/** Least-recently-used map, bounded by the sum of its entries' sizes. */
export interface Lru<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V, size: number): void
  readonly size: number
  clear(): void
}

export function lru<K, V>(maxSize: number): Lru<K, V> {
  const entries = new Map<K, { value: V; size: number }>()
  let total = 0
  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key, value, size) {
      total += size - (entries.get(key)?.size ?? 0)
      entries.delete(key)
      entries.set(key, { value, size })
      for (const [oldest, entry] of entries) {
        if (total <= maxSize) break
        entries.delete(oldest)
        total -= entry.size
      }
    },
    get size() {
      return total
    },
    clear() {
      entries.clear()
      total = 0
    },
  }
}
