/**
 * What was learned from one text, for the next one that is alike: the lines of a log come from few places in a program, and
 * reading each anew is most of what a view of a log costs.
 *
 * A table of a fixed size in which a newer text takes the place of an older one: bounded whatever the input. What is found was compared
 * character by character, so it is never the value of a text that only hashes the same.
 */
export class AlikeMemo<T> {
  readonly #likeness: Likeness
  readonly #entries = new Map<number, Entry<T>>()
  readonly #mask: number
  #asked = 0
  #found = 0
  #rest = 0

  /** `expected` is how many texts there may be. */
  constructor(likeness: Likeness, expected: number) {
    let slots = MIN_SLOTS
    while (slots < expected && slots < MAX_SLOTS) slots *= 2
    this.#likeness = likeness
    this.#mask = slots - 1
  }

  get(text: string, start: number, end: number): T | undefined {
    if (end - start > MAX_LENGTH || this.#rests()) return undefined
    const entry = this.#entries.get(this.#likeness.hash(text, start, end) & this.#mask)
    if (entry === undefined || !this.#likeness.alike(text, start, end, entry)) return undefined
    this.#found++
    return entry.value
  }

  set(value: T, text: string, start: number, end: number): void {
    if (end - start > MAX_LENGTH || this.#rest > 0) return
    this.#entries.set(this.#likeness.hash(text, start, end) & this.#mask, { text, start, end, value })
  }

  /** Texts of which hardly any is alike are not looked up for a while. */
  #rests(): boolean {
    if (this.#rest > 0) {
      this.#rest--
      return true
    }
    if (++this.#asked < TRIAL) return false
    if (this.#found < TRIAL / 8) this.#rest = REST
    this.#asked = this.#found = 0
    return false
  }
}

interface TextSpan {
  readonly text: string
  readonly start: number
  readonly end: number
}

interface Entry<T> extends TextSpan {
  readonly value: T
}

export interface Likeness {
  /** The same for texts that are alike. */
  hash(text: string, start: number, end: number): number
  alike(text: string, start: number, end: number, other: TextSpan): boolean
}

const MIN_SLOTS = 256
const MAX_SLOTS = 16_384
/** Longer texts seldom come twice, and comparing them costs as much as reading them. */
const MAX_LENGTH = 2_000
const TRIAL = 1_024
const REST = 8_192

const DIGIT = 48
const isDigit = (code: number): boolean => code >= DIGIT && code < DIGIT + 10

/** The slot is chosen by the low bits: the high ones take part. */
const mixed = (sum: number): number => sum ^ (sum >>> 15)

/** Texts that differ in nothing but which digits they hold. */
export const DIGITS_ASIDE: Likeness = {
  hash(text, start, end) {
    let sum = end - start
    for (let i = start; i < end; i++) {
      const code = text.charCodeAt(i)
      sum = Math.imul(sum, 31) + (isDigit(code) ? DIGIT : code)
    }
    return mixed(sum)
  },
  alike(text, start, end, other) {
    const offset = other.start - start
    if (other.end - other.start !== end - start) return false
    for (let i = start; i < end; i++) {
      const code = text.charCodeAt(i)
      const before = other.text.charCodeAt(i + offset)
      if (code !== before && !(isDigit(code) && isDigit(before))) return false
    }
    return true
  },
}

/** Texts that differ in nothing but words that hold a digit, whatever else they hold: `3fa9c2`, `17`, `node-4`. */
export const NUMBERED_WORDS_ASIDE: Likeness = {
  hash(text, start, end) {
    let sum = 0
    for (let i = start; i < end;) {
      const code = text.charCodeAt(i)
      if (!isWordCode(code)) {
        sum = Math.imul(sum, 31) + code
        i++
        continue
      }
      let word = sum
      let numbered = false
      for (; i < end; i++) {
        const letter = text.charCodeAt(i)
        if (!isWordCode(letter)) break
        numbered ||= isDigit(letter)
        word = Math.imul(word, 31) + letter
      }
      sum = numbered ? Math.imul(sum, 31) + DIGIT : word
    }
    return mixed(sum)
  },
  alike(text, start, end, { text: known, start: from, end: to }) {
    let i = start
    let j = from
    while (i < end || j < to) {
      if (i < end && j < to && text.charCodeAt(i) === known.charCodeAt(j)) {
        i++
        j++
        continue
      }
      // Up to here the word was the same in both: it may differ when both hold a digit.
      const before = i - startOfWord(text, start, i)
      const wordEnd = endOfWord(text, i, end)
      const knownEnd = endOfWord(known, j, to)
      if (wordEnd === i && knownEnd === j) return false
      if (!isNumbered(text, i - before, wordEnd) || !isNumbered(known, j - before, knownEnd)) return false
      i = wordEnd
      j = knownEnd
    }
    return true
  },
}

/** Letters, digits, `_` and `-`. */
const isWordCode = (code: number): boolean =>
  isDigit(code) || (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code === 45

function startOfWord(text: string, start: number, at: number): number {
  let i = at
  while (i > start && isWordCode(text.charCodeAt(i - 1))) i--
  return i
}

function endOfWord(text: string, start: number, end: number): number {
  let i = start
  while (i < end && isWordCode(text.charCodeAt(i))) i++
  return i
}

function isNumbered(text: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (isDigit(text.charCodeAt(i))) return true
  return false
}
