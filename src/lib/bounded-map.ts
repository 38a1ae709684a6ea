/**
 * Of many entries some are forgotten at a time: a map from which the first one was taken again and again looks longer and longer for its first.
 */
const MANY = 1_000
const AIM = 0.98

/** A map that forgets the entries that were not used for longest, once their weights together pass a bound. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number
  readonly #weights = new Map<K, number>()
  #weight = 0
  #newest: K | undefined

  /** `most` bounds the sum of the weights; where none are given each entry weighs 1. */
  constructor(most: number) {
    super()
    this.#most = most
  }

  /** Of all entries together. */
  get weight(): number {
    return this.#weight
  }

  /** The entry counts as used. */
  override get(key: K): V | undefined {
    const value = super.get(key)
    if (value === undefined || key === this.#newest) return value
    // A Map keeps the order of insertion: the first entry is the one that was not used for longest.
    super.delete(key)
    super.set(key, value)
    this.#newest = key
    return value
  }

  /** The same, and the entry rests where it was. */
  peek(key: K): V | undefined {
    return super.get(key)
  }

  override set(key: K, value: V, weight = 1): this {
    this.delete(key)
    super.set(key, value)
    this.#newest = key
    if (weight !== 1) this.#weights.set(key, weight)
    this.#weight += weight
    if (this.#weight > this.#most) this.#forget()
    return this
  }

  #forget(): void {
    const aim = this.size < MANY ? this.#most : this.#most * AIM
    for (const oldest of this.keys()) {
      if (this.#weight <= aim) return
      this.delete(oldest)
    }
  }

  override delete(key: K): boolean {
    if (!super.delete(key)) return false
    this.#weight -= this.#weights.get(key) ?? 1
    this.#weights.delete(key)
    if (key === this.#newest) this.#newest = undefined
    return true
  }

  override clear(): void {
    super.clear()
    this.#weights.clear()
    this.#weight = 0
    this.#newest = undefined
  }
}
