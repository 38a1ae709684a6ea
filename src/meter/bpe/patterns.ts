/**
 * How the encodings cut text into pieces before merging. Written for JavaScript, with Rust's idea of white space: `\s` here
 * would take U+FEFF and leave U+0085, and counts would differ from the provider's.
 */
const SPACE = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const LEAD = '[^\\r\\n\\p{L}\\p{N}]?'
// ſ (U+017F) folds to s, so a case-blind match in Rust takes it too.
const CONTRACTION = "'[sSſdDmMtT]|'[lL][lL]|'[vV][eE]|'[rR][eE]"

/** GPT-4o, 4.1, 5 and the o series. */
export const O200K = new RegExp(
  [
    `${LEAD}${UPPER}*${LOWER}+(?:${CONTRACTION})?`,
    `${LEAD}${UPPER}+${LOWER}*(?:${CONTRACTION})?`,
    '\\p{N}{1,3}',
    ` ?[^${SPACE}\\p{L}\\p{N}]+[\\r\\n/]*`,
    `[${SPACE}]*[\\r\\n]+`,
    `[${SPACE}]+(?![^${SPACE}])`,
    `[${SPACE}]+`,
  ].join('|'),
  'gu',
)

/** GPT-3.5 and GPT-4. */
export const CL100K = new RegExp(
  [
    CONTRACTION,
    `${LEAD}\\p{L}+`,
    '\\p{N}{1,3}',
    ` ?[^${SPACE}\\p{L}\\p{N}]+[\\r\\n]*`,
    `[${SPACE}]*[\\r\\n]+`,
    `[${SPACE}]+(?![^${SPACE}])`,
    `[${SPACE}]+`,
  ].join('|'),
  'gu',
)

/**
 * A pattern written for Rust, as JavaScript: its idea of white space, no case-blind groups (only contractions use one), no
 * possessive quantifiers.
 */
export function rustPattern(source: string): RegExp {
  const translated = source
    .replace(/\(\?i:'s\|'t\|'re\|'ve\|'m\|'ll\|'d\)/g, `(?:${CONTRACTION})`)
    .replaceAll(/([*+?]|\{\d+(?:,\d*)?\})\+/g, '$1')
  return new RegExp(withRustSpace(translated), 'gu')
}

function withRustSpace(source: string): string {
  let out = ''
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const character = source[i]!
    if (character === '\\') {
      const escaped = source[++i] ?? ''
      if (escaped === 's') out += inClass ? SPACE : `[${SPACE}]`
      else if (escaped === 'S' && !inClass) out += `[^${SPACE}]`
      else out += NEEDS_NO_ESCAPE.test(escaped) && !(inClass && escaped === '-') ? escaped : `\\${escaped}`
      continue
    }
    if (character === '[' && !inClass) inClass = true
    else if (character === ']') inClass = false
    out += character
  }
  return out
}

/** Escapes that Rust allows and JavaScript's unicode mode refuses. */
const NEEDS_NO_ESCAPE = /[#%&,:;<=>@_`~!"' -]/
