/** What a UTF-16 code unit is to the pre-tokenizer; `SCRIPT_SHIFT` bits up stands the script of a letter outside ASCII. */
export const NEWLINE = 0
export const SPACE = 1
export const DIGIT = 2
export const LOWER = 3
export const UPPER = 4
/** Letters without case, and marks: they continue both halves of a word. */
export const LETTER = 5
export const SYMBOL = 6
export const SURROGATE = 7

export const CLASS_MASK = 7
export const SCRIPT_SHIFT = 3

export const LATIN = 1
/** Cyrillic, Greek, Armenian, Georgian. */
export const CYRILLIC = 2
/** Arabic, Hebrew and their neighbours. */
export const ARABIC = 3
/** Devanagari to Sinhala. */
export const INDIC = 4
export const HAN = 5
export const KANA = 6
export const HANGUL = 7
export const OTHER_SCRIPT = 8
export const SCRIPTS = 9

const PAGE = 256
/** A class that is not known yet; its page is filled when a text first needs it. */
const UNSEEN = 255

/**
 * Classes of all code units, by page; `classOf` fills them. A constant of its module and no parameter: its place in memory then stands in the
 * compiled code.
 */
export const CLASSES = new Uint8Array(65_536).fill(UNSEEN)

/** Class and script of a code unit. */
export function classOf(unit: number): number {
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
