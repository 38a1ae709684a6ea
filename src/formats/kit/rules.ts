import type { RuleOptions, Violation } from '../../core/codec.ts'
import { type Fields, isRecord, textOf } from '../../core/values.ts'

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** A picture's type and size, from its first bytes. Without a size if the header is cut or unusual. */
export interface ImageHeader {
  readonly type: ImageType
  readonly width?: number
  readonly height?: number
}

// In JPEG, the size follows metadata segments of up to 64 KiB each; two of them are read, more are rare.
const HEADER_BASE64_CHARS = 176_000

/** Reads type and pixel size from base64 picture data without decoding the picture. Undefined for unknown types. */
export function readImageHeader(base64: string): ImageHeader | undefined {
  const bytes = Buffer.from(base64.slice(0, HEADER_BASE64_CHARS), 'base64')
  if (bytes.length < 12) return undefined
  if (bytes.readUInt32BE(0) === 0x89504e47) return readPng(bytes)
  if (bytes.toString('latin1', 0, 4) === 'GIF8') return readGif(bytes)
  if (bytes.readUInt16BE(0) === 0xffd8) return readJpeg(bytes)
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return readWebp(bytes)
  return undefined
}

function readPng(bytes: Buffer): ImageHeader {
  if (bytes.length < 24) return { type: 'image/png' }
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function readGif(bytes: Buffer): ImageHeader {
  return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function readJpeg(bytes: Buffer): ImageHeader {
  let at = 2
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    // SOF0–SOF15 contain the size; DHT, JPG and DAC are in the same range and do not.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { type: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return { type: 'image/jpeg' }
}

function readWebp(bytes: Buffer): ImageHeader {
  const type = 'image/webp' as const
  if (bytes.length < 30) return { type }
  const chunk = bytes.toString('latin1', 12, 16)
  if (chunk === 'VP8X') return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk === 'VP8 ') return { type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (chunk === 'VP8L') {
    const bits = bytes.readUInt32LE(21)
    return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  return { type }
}

/** The rules of a wire by name, each with the vendor's error message. */
export type RuleBook = Readonly<Record<string, string | ((...details: never[]) => string)>>

/** For a rule with several messages, which the check provides. */
export const messageAsGiven = (message: string): string => message

type Details<Words> = Words extends (...details: infer D) => string ? D : []

/** Collects broken rules. Names are checked against the book, so each rule has a message. */
export interface Findings<Book extends RuleBook = RuleBook> {
  report<Rule extends keyof Book & string>(rule: Rule, path: string, ...details: Details<Book[Rule]>): void
  readonly list: readonly Violation[]
}

// A body can break one rule a million times; more violations than this are not useful and take memory.
const MAX_VIOLATIONS = 100

export function findings<Book extends RuleBook>(book: Book): Findings<Book> {
  const list: Violation[] = []
  return {
    list,
    report(rule, path, ...details) {
      if (list.length >= MAX_VIOLATIONS) return
      const words = book[rule] as string | ((...of: readonly unknown[]) => string)
      list.push({ rule, path, message: typeof words === 'string' ? words : words(...details) })
    },
  }
}

export const isBlank = (text: string): boolean => text.trim() === ''

/**
 * A value in a message. Bodies may be hostile: `String` throws on an object whose toString is not a function, and on arrays nested deeper than the
 * stack.
 */
export const shown = (value: unknown): string => {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : value === null
      ? 'null'
      : typeof value
}

export const quoted = (values: readonly string[]): string =>
  values.length > 20 ? `${values.slice(0, 20).join(', ')} and ${values.length - 20} more` : values.join(', ')

interface Visited {
  readonly value: unknown
  readonly key: string
  readonly parent: Visited | undefined
}

/**
 * Path of the first string that is not well-formed Unicode, or undefined. A cut within an emoji leaves half a pair, and strict JSON parsers refuse
 * the body. Not recursive, because a hostile body can be nested 100,000 levels deep.
 */
function findLoneSurrogate(body: unknown): string | undefined {
  const stack: Visited[] = [{ value: body, key: '', parent: undefined }]
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    const { value } = entry
    if (typeof value === 'string') {
      if (!value.isWellFormed()) return pathOf(entry)
    } else if (typeof value === 'object' && value !== null) {
      for (const key in value) stack.push({ value: (value as Fields)[key], key, parent: entry })
    }
  }
  return undefined
}

function pathOf(found: Visited): string {
  const parts: string[] = []
  // The path is for people, so it only shows the first levels.
  for (let at: Visited | undefined = found; at !== undefined && parts.length < 32; at = at.parent) parts.unshift(at.key)
  return parts.filter((part) => part !== '').join('.')
}

/** What all rules of a wire use. */
export interface RuleContext<Book extends RuleBook> {
  readonly body: Fields
  readonly found: Findings<Book>
  readonly model: string
  readonly profiles: ReadonlySet<string>
}

/** Rules that every book has. A server that accepts such text or any size omits `well-formed-text` or `body-bytes`. */
interface CommonRules {
  readonly 'body-shape': (message: string) => string
  readonly 'well-formed-text'?: string
  readonly 'body-bytes'?: string
}

/** Runs the rules of a wire on a parsed body. Never throws; linear in the body. Empty means that the vendor accepts it. */
export function checkBody<Book extends RuleBook & CommonRules>(
  book: Book,
  noObject: string,
  check: (context: RuleContext<Book>) => void,
  mostBytes = Infinity,
): (body: unknown, options?: RuleOptions) => readonly Violation[] {
  return (body, { bytes = 0, model, profile } = {}) => {
    const found = findings(book)
    const common: Findings<CommonRules & RuleBook> = found as never
    if (bytes > mostBytes) common.report('body-bytes', '')
    if (!isRecord(body)) {
      common.report('body-shape', '', noObject)
      return found.list
    }
    const lone = book['well-formed-text'] === undefined ? undefined : findLoneSurrogate(body)
    if (lone !== undefined) common.report('well-formed-text', lone)
    check({ body, found, model: model ?? textOf(body.model), profiles: profilesOf(profile) })
    return found.list
  }
}

/** Sub-profiles of a wire, e.g. `mistral,reasoning-forbidden`: several may apply to an endpoint. */
export const profilesOf = (profile: string | undefined): ReadonlySet<string> =>
  new Set((profile ?? '').split(',').filter((name) => name !== ''))
