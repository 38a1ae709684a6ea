/** Quotes: lines of an answer that occur verbatim in earlier text. Pure; used by the recall measures and by digests. */

/** Shorter lines (`}`, `return nil`) occur everywhere and prove nothing. */
export const MIN_QUOTE_LENGTH = 20

/** All strings and numbers in a JSON value, as text. Not recursive, so depth does not matter. */
export function stringsIn(value: unknown): readonly string[] {
  const found: string[] = []
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') found.push(next)
    else if (typeof next === 'number') found.push(String(next))
    else if (typeof next === 'object' && next !== null) {
      const inner = Object.values(next)
      for (let i = inner.length - 1; i >= 0; i--) open.push(inner[i])
    }
  }
  return found
}

/** Distinct lines worth counting as quotes: trimmed, at least `minLength` characters, in order of appearance. */
export function quotableLines(texts: Iterable<string>, minLength = MIN_QUOTE_LENGTH): readonly string[] {
  const lines = new Set<string>()
  for (const text of texts) {
    for (let from = 0; from <= text.length;) {
      let to = text.indexOf('\n', from)
      if (to < 0) to = text.length
      if (to - from >= minLength) {
        const line = text.slice(from, to).trim()
        if (line.length >= minLength) lines.add(line)
      }
      from = to + 1
    }
  }
  return [...lines]
}

/** Finds which of many lines occur verbatim in a text. */
export interface LineMatcher {
  readonly lines: readonly string[]
  /** Indexes in `lines` of those that the text contains, each once. One pass over the text. */
  scan(text: string): readonly number[]
}

// 2^20 bits keep false alarms rare for a hundred thousand lines and fit the CPU cache.
const FILTER_BITS = 20
const BASE = 0x01000193

/**
 * A rolling hash over windows of `window` characters finds candidates, a comparison confirms them. Numbered file listings
 * (`  12→code`) put a prefix before each line, so whole lines cannot simply be looked up.
 */
export function createLineMatcher(lines: readonly string[], window = MIN_QUOTE_LENGTH): LineMatcher {
  const filter = new Uint32Array(1 << (FILTER_BITS - 5))
  const anchors = new Map<number, Anchor[]>()
  lines.forEach((line, index) => {
    if (line.length < window) return
    const offset = distinctiveOffset(line, window)
    const hash = hashAt(line, offset, window)
    const bit = hash >>> (32 - FILTER_BITS)
    filter[bit >>> 5] = (filter[bit >>> 5] ?? 0) | (1 << (bit & 31))
    const anchor = { index, offset, line }
    const others = anchors.get(hash)
    if (others === undefined) anchors.set(hash, [anchor])
    else others.push(anchor)
  })
  let outgoing = 1
  for (let i = 1; i < window; i++) outgoing = Math.imul(outgoing, BASE)

  return {
    lines,
    scan(text) {
      const found = new Set<number>()
      const tried = new Map<Anchor, Tried>()
      if (anchors.size === 0 || text.length < window) return []
      let hash = hashAt(text, 0, window)
      for (let end = window; ; end++) {
        const bit = hash >>> (32 - FILTER_BITS)
        if (((filter[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) {
          for (const anchor of anchors.get(hash) ?? []) {
            if (found.has(anchor.index)) continue
            const start = end - window - anchor.offset
            if (start >= 0 && occursAt(text, start, anchor, tried)) found.add(anchor.index)
          }
        }
        if (end >= text.length) break
        const leaving = Math.imul(text.charCodeAt(end - window), outgoing)
        hash = (Math.imul(hash - leaving, BASE) + text.charCodeAt(end)) >>> 0
      }
      return [...found]
    },
  }
}

interface Anchor {
  readonly index: number
  readonly offset: number
  readonly line: string
  /** The Z function of the line; computed on first use. */
  ownBeginnings?: Int32Array
}

/** A failed comparison: its start, and how many characters matched. */
interface Tried {
  readonly start: number
  readonly matched: number
}

/** Shorter lines are simply compared again. */
const LONG_LINE = 256

/**
 * Whether a line occurs at an offset. In repetitive text a long line nearly matches at thousands of offsets; offsets come in order, and the Z
 * function avoids comparing a character twice for one line.
 */
function occursAt(text: string, start: number, anchor: Anchor, tried: Map<Anchor, Tried>): boolean {
  const { line } = anchor
  if (line.length <= LONG_LINE) return text.startsWith(line, start)
  const before = tried.get(anchor)
  let matched = 0
  if (before !== undefined && start < before.start + before.matched) {
    const shift = start - before.start
    const known = before.matched - shift
    const own = (anchor.ownBeginnings ??= ownBeginnings(line))[shift]!
    if (own < known) return false
    matched = known
  }
  while (matched < line.length && text.charCodeAt(start + matched) === line.charCodeAt(matched)) matched++
  if (matched === line.length) return true
  tried.set(anchor, { start, matched })
  return false
}

/** The Z function: for each offset, the length of the longest prefix of the text that starts there. */
function ownBeginnings(text: string): Int32Array {
  const own = new Int32Array(text.length)
  let [from, to] = [0, 0]
  for (let at = 1; at < text.length; at++) {
    let same = at < to ? Math.min(to - at, own[at - from]!) : 0
    while (at + same < text.length && text.charCodeAt(same) === text.charCodeAt(at + same)) same++
    own[at] = same
    if (at + same > to) [from, to] = [at, at + same]
  }
  return own
}

function hashAt(text: string, from: number, window: number): number {
  let hash = 0
  for (let i = from; i < from + window; i++) hash = (Math.imul(hash, BASE) + text.charCodeAt(i)) | 0
  return hash >>> 0
}

/** The window with the most distinct characters: one in a ruler of dashes would match at each offset of every other ruler. */
function distinctiveOffset(line: string, window: number): number {
  const last = line.length - window
  let best = 0
  let most = 0
  for (const offset of [0, last >> 1, last]) {
    const different = new Set(line.slice(offset, offset + window)).size
    if (different > most) {
      most = different
      best = offset
    }
  }
  return best
}

/** Names that an answer must get exactly right: paths, symbols, hashes, numbers, error codes. Pure, one pass over the text. */

export type IdentifierKind = 'path' | 'symbol' | 'hash' | 'number' | 'code'

// A run of characters that names are made of. Everything else separates them.
const CHUNK = /[A-Za-z0-9_$@~./:+#-]{3,}/g
const LINE_SUFFIX = /:\d+(?::\d+)?$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const HEX = /^(?=.*[0-9])(?=.*[a-f])[0-9a-f]{7,64}$/
const NUMBER = /^[+-]?\d[\d.:_-]*$/
// ENOENT, SIGKILL, TS2345, E0308, CVE-2024-3094, HTTP-404.
const CODE = /^(?:[A-Z]{4,}|[A-Z]+[A-Z_-]*-?\d[\dA-Z-]*)$/
// camelCase, PascalCase with two humps, snake_case, CONSTANT_CASE.
const COMPOUND = /^[A-Za-z_$][\w$]*$/
const HUMP = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
// pkg.Function, a.b.c, Class::method.
const QUALIFIED = /^[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)+$/
// payment-service-7f9c, claude-sonnet-4-5: with a digit or two hyphens; "well-known" is prose.
const KEBAB = /^[A-Za-z][\w.]*(?:-[\w.]+)+$/

/** Calls `visit` for each identifier, in order of appearance. */
export function visitIdentifiers(text: string, visit: (name: string, kind: IdentifierKind) => void): void {
  for (const [chunk] of text.matchAll(CHUNK)) {
    const name = trimPunctuation(chunk)
    if (name.length < 3) continue
    const suffix = LINE_SUFFIX.exec(name)
    const bare = suffix === null || NUMBER.test(name) ? name : name.slice(0, suffix.index)
    const kind = kindOf(bare)
    if (kind !== undefined) visit(bare, kind)
  }
}

/** Sentence ends and list marks are not part of a name; a leading slash, dot or tilde is. */
function trimPunctuation(chunk: string): string {
  let from = 0
  let to = chunk.length
  while (from < to && '-+:#@'.includes(chunk[from] as string)) from++
  while (to > from && '.:/+#-@'.includes(chunk[to - 1] as string)) to--
  return from === 0 && to === chunk.length ? chunk : chunk.slice(from, to)
}

function kindOf(name: string): IdentifierKind | undefined {
  if (name.includes('/')) return isPath(name) ? 'path' : undefined
  if (NUMBER.test(name)) return countDigits(name) >= 3 ? 'number' : undefined
  if (UUID.test(name) || HEX.test(name)) return 'hash'
  if (CODE.test(name)) return 'code'
  if (COMPOUND.test(name)) return name.includes('_') || name.includes('$') || HUMP.test(name) ? 'symbol' : undefined
  // "e.g" and "i.e" are no names.
  if (QUALIFIED.test(name)) return name.length < 4 ? undefined : isFileName(name) ? 'path' : 'symbol'
  if (isFileName(name)) return 'path'
  if (KEBAB.test(name) && (/\d/.test(name) || name.indexOf('-') !== name.lastIndexOf('-'))) return 'symbol'
  return undefined
}

/** "and/or" is prose; a path is rooted, has two slashes, or a telling character. */
function isPath(name: string): boolean {
  if (/^(?:\/|\.{1,2}\/|~\/|[a-z]+:\/\/)/i.test(name)) return /[A-Za-z0-9]/.test(name)
  return name.indexOf('/') !== name.lastIndexOf('/') || /[._\d-]/.test(name)
}

const isFileName = (name: string): boolean =>
  /^\.?[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,4}$/.test(name) && /\.(?:[a-z]{1,4}\d?|[a-z]{5})$/.test(name)

function countDigits(name: string): number {
  let digits = 0
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    if (code >= 48 && code <= 57) digits++
  }
  return digits
}
