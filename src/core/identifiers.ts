/** Names that an answer must get exactly right: paths, symbols, hashes, numbers, error codes. Pure, one pass over the text. */

export type IdentifierKind = 'path' | 'symbol' | 'hash' | 'number' | 'code'

export interface Identifier {
  readonly kind: IdentifierKind
  readonly text: string
}

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

/** Distinct identifiers in order of appearance. */
export function identifiersOf(text: string): readonly Identifier[] {
  const found = new Map<string, Identifier>()
  visitIdentifiers(text, (name, kind) => {
    if (!found.has(name)) found.set(name, { kind, text: name })
  })
  return [...found.values()]
}

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
