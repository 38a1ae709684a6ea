interface Entry<K, V> {
  readonly key: K
  value: V
  weight: number
  /** Neighbours in the order of use. */
  older: Entry<K, V> | undefined
  newer: Entry<K, V> | undefined
}

/**
 * A map that forgets the entries that were not used for longest, once their weights together pass a bound. The order of use is a list
 * through the entries: to use one costs a lookup, where taking it out of a map and putting it back would hash its key three times.
 */
export class BoundedMap<K, V> implements ReadonlyMap<K, V> {
  readonly #most: number
  readonly #entries = new Map<K, Entry<K, V>>()
  #oldest: Entry<K, V> | undefined
  #newest: Entry<K, V> | undefined
  #weight = 0

  /** `most` bounds the sum of the weights; where none are given each entry weighs 1. */
  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  /** Of all entries together. */
  get weight(): number {
    return this.#weight
  }

  /** The one that was not used for longest. */
  get oldest(): K | undefined {
    return this.#oldest?.key
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** The entry counts as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#use(entry)
    return entry.value
  }

  /** The same, and the entry rests where it was. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: K, value: V, weight = 1): this {
    const known = this.#entries.get(key)
    if (known === undefined) {
      const entry: Entry<K, V> = { key, value, weight, older: undefined, newer: undefined }
      this.#entries.set(key, entry)
      this.#append(entry)
      this.#weight += weight
    } else {
      this.#weight += weight - known.weight
      known.value = value
      known.weight = weight
      this.#use(known)
    }
    while (this.#weight > this.#most && this.#oldest !== undefined) this.delete(this.#oldest.key)
    return this
  }

  delete(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#unlink(entry)
    this.#weight -= entry.weight
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#oldest = undefined
    this.#newest = undefined
    this.#weight = 0
  }

  /** Those that were not used for longest first, as they are now: what changes while somebody looks at them is not seen. */
  entries(): MapIterator<[K, V]> {
    const all: [K, V][] = []
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) all.push([entry.key, entry.value])
    return all.values()
  }

  keys(): MapIterator<K> {
    return Array.from(this.entries(), ([key]) => key).values()
  }

  values(): MapIterator<V> {
    return Array.from(this.entries(), ([, value]) => value).values()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }

  forEach(visit: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this)
  }

  #use(entry: Entry<K, V>): void {
    if (entry === this.#newest) return
    this.#unlink(entry)
    this.#append(entry)
  }

  #append(entry: Entry<K, V>): void {
    entry.older = this.#newest
    entry.newer = undefined
    if (this.#newest === undefined) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink({ older, newer }: Entry<K, V>): void {
    if (older === undefined) this.#oldest = newer
    else older.newer = newer
    if (newer === undefined) this.#newest = older
    else newer.older = older
  }
}

/** One key for two names. Either may hold any character. */
export const jointKey = (first: string, second: string): string => `${first.length} ${first}${second}`
