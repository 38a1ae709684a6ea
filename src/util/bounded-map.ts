/** A map that removes the least recently used entries when the sum of their weights passes a bound. */
export class BoundedMap<K, V> implements ReadonlyMap<K, V> {
  readonly #most: number
  /** Least recently used first. */
  readonly #entries = new Map<K, { readonly value: V; readonly weight: number }>()
  #weight = 0

  /** `most`: the largest sum of weights. An entry weighs 1 by default. */
  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Marks the entry as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Does not mark the entry as used. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: K, value: V, weight = 1): this {
    this.delete(key)
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#most) break
      this.delete(oldest)
    }
    return this
  }

  delete(key: K): boolean {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  /** Least recently used first; a copy, since using an entry while iterating would move it to the end. */
  entries(): MapIterator<[K, V]> {
    return Array.from(this.#entries, ([key, { value }]): [K, V] => [key, value]).values()
  }

  keys(): MapIterator<K> {
    return [...this.#entries.keys()].values()
  }

  values(): MapIterator<V> {
    return Array.from(this.#entries.values(), ({ value }) => value).values()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }

  forEach(visit: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this)
  }
}

/** One key for two names, which may contain any character. */
export const jointKey = (first: string, second: string): string => `${first.length} ${first}${second}`
