/** One cut that a guard made: what, how large it was, what is left, and where the original is. */
export interface GuardCut {
  readonly guard: string
  readonly what: string
  readonly original: number
  readonly shown: number
  readonly handle?: string
}

/** A guard's answer: the value to go on with, and a record of every cut. No cuts means the very same value. */
export interface Guarded<T> {
  readonly value: T
  readonly cuts: readonly GuardCut[]
}

/** Room for the line with the address. */
export const ADDRESS_BYTES = 64
