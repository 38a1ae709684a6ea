/* `scan` is one loop of more than 80 lines: a call for each character would cost more than the counting. */
import { byLength, FEATURE_COUNT, featureIndex } from './features.ts'
import known from './known-pieces-data.json' with { type: 'json' }

/** What a UTF-16 code unit is to the pre-tokenizer; `SCRIPT_SHIFT` bits up stands the script of a letter outside ASCII. */
const NEWLINE = 0
const SPACE = 1
const DIGIT = 2
const LOWER = 3
const UPPER = 4
/** Letters without case, and marks: they continue both halves of a word. */
const LETTER = 5
const SYMBOL = 6
const SURROGATE = 7

const CLASS_MASK = 7
const SCRIPT_SHIFT = 3

const LATIN = 1
/** Cyrillic, Greek, Armenian, Georgian. */
const CYRILLIC = 2
/** Arabic, Hebrew and their neighbours. */
const ARABIC = 3
/** Devanagari to Sinhala. */
const INDIC = 4
const HAN = 5
const KANA = 6
const HANGUL = 7
const OTHER_SCRIPT = 8
const SCRIPTS = 9

const PAGE = 256
/** A class that is not known yet; its page is filled when a text first needs it. */
const UNSEEN = 255

/**
 * Classes of all code units, by page; `classOf` fills them. A constant of its module and no parameter: its place in memory then stands in the
 * compiled code.
 */
const CLASSES = new Uint8Array(65_536).fill(UNSEEN)

/** Class and script of a code unit. */
function classOf(unit: number): number {
  const known = CLASSES[unit]!
  return known === UNSEEN ? fillPage(unit) : known
}

function fillPage(unit: number): number {
  const first = unit - (unit % PAGE)
  for (let i = first; i < first + PAGE; i++) CLASSES[i] = classify(i)
  return CLASSES[unit]!
}

function classify(unit: number): number {
  if (unit === 0x0a || unit === 0x0d) return NEWLINE
  if (unit >= 0xd800 && unit <= 0xdfff) return SURROGATE
  // Whole blocks of one kind: asking the regular expressions would make the first Chinese text slow.
  if ((unit >= 0x3400 && unit < 0x4dc0) || (unit >= 0x4e00 && unit < 0x9ff0)) return LETTER | (HAN << SCRIPT_SHIFT)
  if (unit >= 0xac00 && unit < 0xd7a4) return LETTER | (HANGUL << SCRIPT_SHIFT)
  const character = String.fromCharCode(unit)
  if (/[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/.test(character)) return SPACE
  if (/\p{N}/u.test(character)) return DIGIT
  const kind = /[\p{Lu}\p{Lt}]/u.test(character)
    ? UPPER
    : /\p{Ll}/u.test(character)
      ? LOWER
      : /[\p{L}\p{M}]/u.test(character)
        ? LETTER
        : SYMBOL
  return kind === SYMBOL || unit < 0x80 ? kind : kind | (scriptOf(unit) << SCRIPT_SHIFT)
}

function scriptOf(unit: number): number {
  if (unit < 0x370 || (unit >= 0x1e00 && unit < 0x1f00)) return LATIN
  if (unit < 0x590 || (unit >= 0x10a0 && unit < 0x1100) || (unit >= 0x1f00 && unit < 0x2000)) return CYRILLIC
  if (unit < 0x900 || (unit >= 0xfb1d && unit < 0xff00)) return ARABIC
  if (unit < 0xe00) return INDIC
  if ((unit >= 0x3400 && unit < 0xa000) || (unit >= 0xf900 && unit < 0xfb00) || unit === 0x3005) return HAN
  if ((unit >= 0x3040 && unit < 0x3100) || (unit >= 0x31f0 && unit < 0x3200) || (unit >= 0xff66 && unit < 0xffa0))
    return KANA
  if ((unit >= 0xac00 && unit < 0xd7b0) || (unit >= 0x1100 && unit < 0x1200) || (unit >= 0x3130 && unit < 0x3190))
    return HANGUL
  return OTHER_SCRIPT
}

/** Where the scan counts what, resolved once: positions of features, and which feature a length falls into. */
const HIT = byLength('hit')
const GLUED_HIT = byLength('glued-hit')
const UPPER_HIT = byLength('upper-hit')
const SYMBOL_LEAD_HIT = byLength('symbol-lead-hit')
const LEAD_HIT = byLength('lead-hit')
const MISS = byLength('miss')
const MISS_UPPER = byLength('miss-upper')
const GLUED_MISS = byLength('glued-miss')
const LONGEST = 32
const TAIL_AT = 16
/** Known parts are looked for up to this many characters: the longer, the more often the filter errs, and Han tokens are short. */
const LONGEST_PART = 8
const LONGEST_DENSE_PART = 4
const LONGEST_WORD = 40
const TAIL = featureIndex('tail')
const RUN = featureIndex('run')
const TAIL_REPEAT = featureIndex('tail-repeat')
const NUMBER = featureIndex('number')
const DIGITS = featureIndex('digit')
const SYMBOL_1 = featureIndex('symbol-1')
const SYMBOL_2 = featureIndex('symbol-2')
const SYMBOL_HIT = featureIndex('symbol-hit')
const SYMBOL_HIT_MORE = featureIndex('symbol-hit-more')
const SYMBOL_NEWLINE = featureIndex('symbol-newline')
const SYMBOL_MISS = featureIndex('symbol-miss')
const SYMBOL_TAIL = featureIndex('symbol-tail')
const SYMBOL_REPEAT = featureIndex('symbol-repeat')
const WIDE_SYMBOL = featureIndex('wide-symbol')
const ASTRAL = featureIndex('astral')
const ASTRAL_REPEAT = featureIndex('astral-repeat')
const NEWLINE_ONE = featureIndex('newline')
const NEWLINES = featureIndex('newlines')
const NEWLINE_MORE = featureIndex('newline-more')
const SPACE_ONE = featureIndex('space')
const INDENT = featureIndex('indent')
const INDENT_MORE = featureIndex('indent-more')
const SPACE_TAIL = featureIndex('space-tail')
const HAN_REPEAT = featureIndex('han-repeat')
const SCRIPT_REPEAT = featureIndex('script-repeat')
/** White space runs up to this length are one token. */
const SPACE_RUN = 64
/** Deeper indents cost more in some families. */
const INDENT_AT = 8
const BLANK = 0x20
const APOSTROPHE = 0x27

const PART_OF = new Uint8Array(SCRIPTS)
const CHARACTER_OF = new Uint8Array(SCRIPTS)
for (const [script, part, character] of [
  [LATIN, 'latin-part', 'latin'],
  [CYRILLIC, 'cyrillic-part', 'cyrillic'],
  [ARABIC, 'arabic-part', 'arabic'],
  [INDIC, 'indic-part', 'indic'],
  [HAN, 'han-part', 'han'],
  [KANA, 'kana-part', 'kana'],
  [HANGUL, 'hangul-part', 'hangul'],
  [OTHER_SCRIPT, 'script-part', 'script'],
] as const) {
  PART_OF[script] = featureIndex(part)
  CHARACTER_OF[script] = featureIndex(character)
}

/**
 * Which pieces of text are one token, as a Bloom filter over the o200k vocabulary: 256 kB instead of the vocabulary's 3.6 MB
 * and its 250 ms of loading. It answers "yes" wrongly for about 1.5 % of unknown pieces, which the fitted weights absorb.
 */
export const FILTER_WORDS = 65_536
const BIT_MASK = FILTER_WORDS * 32 - 1
const HASH_START = 0x811c9dc5 | 0
const HASH_PRIME = 0x01000193

/** A constant for the same reason as the classes are. Little-endian in the file, whatever the machine is. */
const FILTER = new Uint32Array(FILTER_WORDS)
const packed = Buffer.from(known.filter, 'base64')
for (let i = 0; i < FILTER_WORDS && i * 4 + 3 < packed.length; i++) FILTER[i] = packed.readUInt32LE(i * 4)

export const hashStart = HASH_START
export const hashStep = (hash: number, unit: number): number => Math.imul(hash ^ unit, HASH_PRIME)
/** A piece is hashed as its letters, then the character in front of them (0 for none): both forms cost one pass. */
export const hashWithLead = (hash: number, lead: number): number => {
  let mixed = hash ^ Math.imul(lead + 1, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** Three places from one hash. */
const secondPlace = (hash: number): number => (Math.imul(hash, 0x9e3779b1) >>> 7) & BIT_MASK
const thirdPlace = (hash: number): number => (Math.imul(hash, 0x85ebca77) >>> 9) & BIT_MASK

function isKnown(hash: number): boolean {
  const first = hash & BIT_MASK
  if ((FILTER[first >> 5]! & (1 << (first & 31))) === 0) return false
  const second = secondPlace(hash)
  if ((FILTER[second >> 5]! & (1 << (second & 31))) === 0) return false
  const third = thirdPlace(hash)
  return (FILTER[third >> 5]! & (1 << (third & 31))) !== 0
}

/** For the script that builds the filter. */
export function addKnown(filter: Uint32Array, hash: number): void {
  for (const place of [hash & BIT_MASK, secondPlace(hash), thirdPlace(hash)]) filter[place >> 5]! |= 1 << (place & 31)
}

/** Counts of all features of a text, in the order of `FEATURES`. */
export type Features = Uint32Array

/**
 * Counts the features of a text in one pass. `into` is zeroed first, so that a caller can keep one array. The loop over words is
 * written out because calls per character would cost more than the counting; `| 0` behind a call says that a place is a whole number, which
 * would else be boxed and unboxed for every character.
 */
export function scan(text: string, into: Features = new Uint32Array(FEATURE_COUNT)): Features {
  into.fill(0)
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
