import { ARABIC, CYRILLIC, HAN, HANGUL, INDIC, KANA, LATIN, OTHER_SCRIPT, SCRIPTS } from './classes.ts'
import { byLength, featureIndex } from './features.ts'

/** Where the scan counts what, resolved once: positions of features, and which feature a length falls into. */
export const HIT = byLength('hit')
export const GLUED_HIT = byLength('glued-hit')
export const UPPER_HIT = byLength('upper-hit')
export const SYMBOL_LEAD_HIT = byLength('symbol-lead-hit')
export const LEAD_HIT = byLength('lead-hit')
export const MISS = byLength('miss')
export const MISS_UPPER = byLength('miss-upper')
export const GLUED_MISS = byLength('glued-miss')
export const LONGEST = 32
export const TAIL_AT = 16
/** Known parts are looked for up to this many characters: the longer, the more often the filter errs, and Han tokens are short. */
export const LONGEST_PART = 8
export const LONGEST_DENSE_PART = 4
export const LONGEST_WORD = 40
export const TAIL = featureIndex('tail')
export const RUN = featureIndex('run')
export const TAIL_REPEAT = featureIndex('tail-repeat')
export const NUMBER = featureIndex('number')
export const DIGITS = featureIndex('digit')
export const SYMBOL_1 = featureIndex('symbol-1')
export const SYMBOL_2 = featureIndex('symbol-2')
export const SYMBOL_HIT = featureIndex('symbol-hit')
export const SYMBOL_HIT_MORE = featureIndex('symbol-hit-more')
export const SYMBOL_NEWLINE = featureIndex('symbol-newline')
export const SYMBOL_MISS = featureIndex('symbol-miss')
export const SYMBOL_TAIL = featureIndex('symbol-tail')
export const SYMBOL_REPEAT = featureIndex('symbol-repeat')
export const WIDE_SYMBOL = featureIndex('wide-symbol')
export const ASTRAL = featureIndex('astral')
export const ASTRAL_REPEAT = featureIndex('astral-repeat')
export const NEWLINE_ONE = featureIndex('newline')
export const NEWLINES = featureIndex('newlines')
export const NEWLINE_MORE = featureIndex('newline-more')
export const SPACE_ONE = featureIndex('space')
export const INDENT = featureIndex('indent')
export const INDENT_MORE = featureIndex('indent-more')
export const SPACE_TAIL = featureIndex('space-tail')
export const HAN_REPEAT = featureIndex('han-repeat')
export const SCRIPT_REPEAT = featureIndex('script-repeat')
/** White space runs up to this length are one token. */
export const SPACE_RUN = 64
/** Deeper indents cost more in some families. */
export const INDENT_AT = 8
export const BLANK = 0x20
export const APOSTROPHE = 0x27

export const PART_OF = new Uint8Array(SCRIPTS)
export const CHARACTER_OF = new Uint8Array(SCRIPTS)
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
