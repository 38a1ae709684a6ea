import {
  CLASS_MASK,
  CLASSES,
  classOf,
  DIGIT,
  HAN,
  HANGUL,
  LETTER,
  LOWER,
  NEWLINE,
  SCRIPT_SHIFT,
  SPACE,
  SURROGATE,
  SYMBOL,
  UPPER,
} from './classes.ts'
import {
  HIT,
  GLUED_HIT,
  UPPER_HIT,
  SYMBOL_LEAD_HIT,
  LEAD_HIT,
  MISS,
  MISS_UPPER,
  GLUED_MISS,
  LONGEST,
  TAIL_AT,
  LONGEST_PART,
  LONGEST_DENSE_PART,
  LONGEST_WORD,
  TAIL,
  RUN,
  TAIL_REPEAT,
  NUMBER,
  DIGITS,
  SYMBOL_1,
  SYMBOL_2,
  SYMBOL_HIT,
  SYMBOL_HIT_MORE,
  SYMBOL_NEWLINE,
  SYMBOL_MISS,
  SYMBOL_TAIL,
  SYMBOL_REPEAT,
  WIDE_SYMBOL,
  ASTRAL,
  ASTRAL_REPEAT,
  NEWLINE_ONE,
  NEWLINES,
  NEWLINE_MORE,
  SPACE_ONE,
  INDENT,
  INDENT_MORE,
  SPACE_TAIL,
  HAN_REPEAT,
  SCRIPT_REPEAT,
  SPACE_RUN,
  INDENT_AT,
  BLANK,
  APOSTROPHE,
  PART_OF,
  CHARACTER_OF,
} from './feature-tables.ts'
import { FEATURE_COUNT } from './features.ts'
import { hashStart, hashStep, hashWithLead, isKnown, loadKnownPieces } from './known-pieces.ts'

/** Counts of all features of a text, in the order of `FEATURES`. */
export type Features = Uint32Array

/**
 * Counts the features of a text in one pass. `into` is zeroed first, so that a caller can keep one array. The loop over words is
 * written out because calls per character would cost more than the counting; `| 0` behind a call says that a place is a whole number, which
 * would else be boxed and unboxed for every character.
 */
export function scan(text: string, into: Features = new Uint32Array(FEATURE_COUNT)): Features {
  into.fill(0)
  loadKnownPieces()
  const length = text.length
  const units = unitsOf(text)
  let at = 0
  /** Where the last word or number ended: a word that starts there is glued to it. */
  let joint = -1
  while (at < length) {
    let unit = units[at]!
    let shape = classOf(unit) & CLASS_MASK
    let lead = 0
    if (shape === DIGIT) {
      const first = at++
      while ((classOf(units[at]!) & CLASS_MASK) === DIGIT) at++
      into[NUMBER]! += ((at - first + 2) / 3) | 0
      into[DIGITS]! += at - first
      joint = at
      continue
    }
    if (shape === SPACE || shape === SYMBOL) {
      // A single blank or symbol in front of letters belongs to their piece, in front of a number it is one by itself.
      const nextShape = classOf(units[at + 1]!) & CLASS_MASK
      if (nextShape === DIGIT && unit < 0x80) {
        into[shape === SPACE ? SPACE_ONE : SYMBOL_1]! += 1
        at++
        continue
      }
      if (nextShape < LOWER || nextShape > LETTER) {
        at = (shape === SPACE ? whiteSpace(units, length, at, into) : symbols(units, length, at, at, into)) | 0
        continue
      }
      lead = unit
      at++
    } else if (shape === NEWLINE) {
      at = whiteSpace(units, length, at, into) | 0
      continue
    } else if (shape === SURROGATE) {
      at = astral(units, length, at, into) | 0
      continue
    }
    const start = at
    let hash = hashStart
    let script = 0
    // Most letters of most texts.
    unit = units[at]!
    while (CLASSES[unit] === LOWER) {
      hash = hashStep(hash, unit)
      unit = units[++at]!
    }
    let lower = at > start
    while (at < length) {
      unit = units[at]!
      const kind = classOf(unit)
      shape = kind & CLASS_MASK
      if (shape === LOWER) lower = true
      else if (shape === UPPER) {
        if (lower) break
      } else if (shape !== LETTER) break
      if (kind > CLASS_MASK && kind >> SCRIPT_SHIFT > script) script = kind >> SCRIPT_SHIFT
      hash = hashStep(hash, unit)
      at++
    }
    if (unit === APOSTROPHE && at < length) {
      const end = contractionEnd(units, length, at) | 0
      for (; at < end; at++) hash = hashStep(hash, units[at]!)
    }
    const size = at - start + (lead === 0 ? 0 : 1)
    const bucket = size > LONGEST ? LONGEST : size
    const glued = lead === 0 && start === joint
    joint = at
    if (isKnown(hashWithLead(hash, lead))) {
      const table = glued ? GLUED_HIT : lead > BLANK ? SYMBOL_LEAD_HIT : lower || size < 3 ? HIT : UPPER_HIT
      into[table[bucket]!]! += 1
    } else if (lead !== 0 && lead !== BLANK && isKnown(hashWithLead(hash, 0))) into[LEAD_HIT[bucket]!]! += 1
    else if (script > 0) foreignWord(units, start, at, lead, script, into)
    else {
      into[glued ? GLUED_MISS[bucket]! : lower ? MISS[bucket]! : MISS_UPPER[bucket]!]! += 1
      if (size > TAIL_AT) repeats(units, start + TAIL_AT, at, size > LONGEST_WORD ? RUN : TAIL, TAIL_REPEAT, into)
    }
  }
  return into
}

let room = Buffer.alloc(0)
let view = new Uint16Array(0)
const LARGEST_KEPT = 1 << 22

/**
 * The text as code units and a 0 behind them, which ends every run of letters and digits: reading an array is faster than asking a string that
 * may be stored in five ways.
 */
function unitsOf(text: string): Uint16Array {
  const needed = text.length * 2 + 2
  if (room.length < needed) {
    const grown = Buffer.alloc(Math.max(8192, needed * 2))
    const units = new Uint16Array(grown.buffer, grown.byteOffset, grown.length >> 1)
    grown.write(text, 0, 'utf16le')
    units[text.length] = 0
    // One huge text must not hold its memory for ever.
    if (grown.length <= LARGEST_KEPT) {
      room = grown
      view = units
    }
    return units
  }
  room.write(text, 0, 'utf16le')
  view[text.length] = 0
  return view
}

/** An unknown word or an unbroken run of another script, as its longest known parts from the left. */
function foreignWord(
  units: Uint16Array,
  start: number,
  end: number,
  lead: number,
  script: number,
  into: Features,
): void {
  let from = start
  // A symbol in front is a token of its own here; a blank mostly joins the first part.
  if (lead > BLANK) into[SYMBOL_1]! += 1
  let leading = lead === BLANK ? BLANK : 0
  while (from < end) {
    const unit = units[from]!
    const own = classOf(unit) >> SCRIPT_SHIFT
    if (from > start + 3 && unit === units[from - 1] && unit === units[from - 2]) {
      into[own === HAN ? HAN_REPEAT : SCRIPT_REPEAT]! += 1
      from++
      continue
    }
    let longest = 0
    let hash = hashStart
    const limit = Math.min(end, from + (own === HAN || own === HANGUL ? LONGEST_DENSE_PART : LONGEST_PART))
    for (let i = from; i < limit; i++) {
      hash = hashStep(hash, units[i]!)
      if (isKnown(hashWithLead(hash, leading))) longest = i + 1 - from
    }
    if (longest === 0 && leading !== 0) {
      into[SPACE_ONE]! += 1
      leading = 0
      continue
    }
    into[(longest > 0 ? PART_OF : CHARACTER_OF)[own === 0 ? script : own]!]! += 1
    from += longest > 0 ? longest : 1
    leading = 0
  }
}

/** End of `'s`, `'t`, `'re` … after a word; the apostrophe's own place when there is none. */
function contractionEnd(units: Uint16Array, length: number, apostrophe: number): number {
  const first = apostrophe + 1 < length ? units[apostrophe + 1]! | 0x20 : 0
  if (first === 0x73 || first === 0x74 || first === 0x64 || first === 0x6d) return apostrophe + 2
  const second = apostrophe + 2 < length ? units[apostrophe + 2]! | 0x20 : 0
  if (first === 0x6c && second === 0x6c) return apostrophe + 3
  if ((first === 0x76 || first === 0x72) && second === 0x65) return apostrophe + 3
  return apostrophe
}

/** White space, except a last blank that leads a word: that one is left for the caller. */
function whiteSpace(units: Uint16Array, length: number, start: number, into: Features): number {
  let end = start
  let afterNewline = start
  let newlines = 0
  let shape = SPACE
  while (end < length) {
    shape = classOf(units[end]!) & CLASS_MASK
    if (shape === NEWLINE) {
      newlines++
      afterNewline = end + 1
    } else if (shape !== SPACE) break
    end++
  }
  if (newlines > 0) {
    into[newlines === 1 && afterNewline === start + 1 ? NEWLINE_ONE : NEWLINES]! += 1
    into[NEWLINE_MORE]! += newlines - 1
    if (afterNewline - start > SPACE_RUN) into[SPACE_TAIL]! += afterNewline - start - SPACE_RUN
  }
  const blanks = end - afterNewline
  if (blanks === 0) return end
  const last = end < length ? 1 : 0
  if (blanks > last) {
    into[blanks - last === 1 ? SPACE_ONE : INDENT]! += 1
    if (blanks > INDENT_AT) into[INDENT_MORE]! += Math.min(blanks, SPACE_RUN) - INDENT_AT
    if (blanks > SPACE_RUN) into[SPACE_TAIL]! += blanks - SPACE_RUN
  }
  if (last === 0) return end
  if (shape >= LOWER && shape <= LETTER) return end - 1
  if (shape === SYMBOL && units[end - 1] === BLANK) return symbols(units, length, end - 1, end, into)
  into[SPACE_ONE]! += 1
  return end
}

/** A run of symbols from `first`, line ends and slashes after it included; `start` is one before it when a blank leads. */
function symbols(units: Uint16Array, length: number, start: number, first: number, into: Features): number {
  let end = first
  let hash = hashStart
  let wide = 0
  for (; end < length; end++) {
    const unit = units[end]!
    if ((classOf(unit) & CLASS_MASK) !== SYMBOL) break
    if (unit >= 128) wide++
    hash = hashStep(hash, unit)
  }
  const size = end - first
  for (; end < length; end++) {
    const unit = units[end]!
    if (unit !== 0x0a && unit !== 0x0d && unit !== 0x2f) break
    hash = hashStep(hash, unit)
  }
  if (isKnown(hashWithLead(hash, start < first ? BLANK : 0))) {
    const whole = end - start
    into[whole === 1 ? SYMBOL_1 : whole === 2 ? SYMBOL_2 : SYMBOL_HIT]! += 1
    if (whole > 3) into[SYMBOL_HIT_MORE]! += Math.min(whole, 16) - 3
    into[SYMBOL_NEWLINE]! += end - first - size
    return end
  }
  into[WIDE_SYMBOL]! += wide
  into[SYMBOL_MISS]! += 1
  if (size > 2) repeats(units, first + 2, end, SYMBOL_TAIL, SYMBOL_REPEAT, into)
  return end
}

function repeats(units: Uint16Array, from: number, to: number, changing: number, same: number, into: Features): void {
  let again = 0
  for (let i = from; i < to; i++) if (units[i] === units[i - 1]) again++
  into[same]! += again
  into[changing]! += to - from - again
}

function astral(units: Uint16Array, length: number, start: number, into: Features): number {
  let end = start
  while (end < length && (classOf(units[end]!) & CLASS_MASK) === SURROGATE) {
    const pair = end + 1 < length && (classOf(units[end + 1]!) & CLASS_MASK) === SURROGATE
    const same = pair && end > start + 1 && units[end] === units[end - 2] && units[end + 1] === units[end - 1]
    into[same ? ASTRAL_REPEAT : ASTRAL]! += 1
    end += pair ? 2 : 1
  }
  return end
}
