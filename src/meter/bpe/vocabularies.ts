import { type BpeOptions, createBpeCounter, type Ranks } from './bpe.ts'

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

/** The parts of a `tokenizer.json` (Hugging Face) that counting needs. */
export interface TokenizerJson {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>
    readonly merges: readonly (string | readonly [string, string])[]
  }
  readonly normalizer?: unknown
  readonly pre_tokenizer?: unknown
}

/** A counter for byte-level vocabularies (Llama 3, Qwen, DeepSeek, Mistral's Tekken). */
export function createByteLevelCounter(json: TokenizerJson): (text: string) => number {
  const patterns = splitPatterns(json.pre_tokenizer)
  const count = createBpeCounter({ ranks: ranksOf(json.model.merges, bytesOfAlias), patterns })
  return normalises(json.normalizer) ? (text) => count(text.normalize('NFC')) : count
}

const WORD_MARK = '\u2581'

/**
 * A counter for SentencePiece vocabularies (Gemma, and with it Gemini): blanks are written as ▁, parts are characters instead
 * of bytes, and a character without a token of its own costs one per byte. Merges do not reach over a ▁ that follows text.
 */
export function createSentencePieceCounter(json: Pick<TokenizerJson, 'model'>): (text: string) => number {
  const { vocab, merges } = json.model
  const ranks = new Map<string, number>()
  // Two code units of one character belong together before anything else is merged.
  for (const token of Object.keys(vocab)) if (token.length === 2 && token.codePointAt(0)! > 0xffff) ranks.set(token, 0)
  for (const [merged, rank] of ranksOf(merges, (token) => token)) ranks.set(merged, ranks.has(merged) ? 0 : rank + 1)
  const markup = Object.keys(vocab).filter(
    (token) => /^<\/?[a-z]\w*>$/.test(token) && !ranks.has(token) && !RESERVED.test(token),
  )
  for (const token of markup) ranks.set(token, ranks.size + 1)
  const words = new RegExp(`${WORD_MARK}+[^${WORD_MARK}]*|[^${WORD_MARK}]+`, 'gu')
  const options: BpeOptions = {
    ranks,
    patterns: markup.length === 0 ? [words] : [new RegExp(markup.map(escape).join('|'), 'gu'), words],
    encode: (piece) => piece,
    extra: (piece) => missingBytes(piece, vocab),
  }
  const count = createBpeCounter(options)
  return (text) => count(text.replaceAll(' ', WORD_MARK))
}

const RESERVED = /^<(unused\d+|pad|eos|bos|unk|mask)>$/

const PLAIN = /^[\n\t\u0020-\u007e\u2581]*$/

/** A character outside the vocabulary is written as its UTF-8 bytes: so many tokens more than the units it was counted as. */
function missingBytes(piece: string, vocab: Readonly<Record<string, number>>): number {
  if (PLAIN.test(piece)) return 0
  let missing = 0
  for (const character of piece) {
    if (vocab[character] === undefined) missing += Buffer.byteLength(character) - character.length
  }
  return missing
}

/** A merged token ranks by the first merge that makes it. */
function ranksOf(merges: TokenizerJson['model']['merges'], read: (token: string) => string): Ranks {
  const ranks = new Map<string, number>()
  for (let i = 0; i < merges.length; i++) {
    const merge = merges[i]!
    const merged = read(typeof merge === 'string' ? joined(merge) : merge[0] + merge[1])
    if (!ranks.has(merged)) ranks.set(merged, i)
  }
  return ranks
}

/** Both halves of "left right" hold at least one character, and neither holds a blank. */
function joined(merge: string): string {
  const blank = merge.indexOf(' ', 1)
  return merge.slice(0, blank) + merge.slice(blank + 1)
}

/** `Split` steps with a regular expression, in order. */
function splitPatterns(preTokenizer: unknown): RegExp[] {
  const steps = field(preTokenizer, 'pretokenizers')
  const list: unknown[] = Array.isArray(steps) ? steps : [preTokenizer]
  return list.flatMap((step) => {
    const pattern = field(field(step, 'pattern'), 'Regex')
    return field(step, 'type') === 'Split' && typeof pattern === 'string' ? [rustPattern(pattern)] : []
  })
}

const normalises = (normalizer: unknown): boolean => field(normalizer, 'type') === 'NFC'

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

let aliases: Map<string, string> | undefined

/** Byte-level vocabularies write each byte as a printable character; this gives the bytes back. */
function bytesOfAlias(token: string): string {
  aliases ??= byteAliases()
  let bytes = ''
  for (const character of token) bytes += aliases.get(character) ?? character
  return bytes
}

/** Printable latin-1 stands for itself; the other bytes follow from U+0100 on. */
function byteAliases(): Map<string, string> {
  const map = new Map<string, string>()
  let next = 256
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    map.set(String.fromCharCode(printable ? byte : next++), String.fromCharCode(byte))
  }
  return map
}

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
