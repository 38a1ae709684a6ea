import { constants, inflateSync } from 'node:zlib'
import { type Count, countFrom, unknownCount } from '../core/count.ts'
import type { Media } from '../core/item.ts'

/** A page is billed as its text and, on most vendors, as a picture too. */
interface PageRule {
  readonly tokens: number
  readonly low: number
  readonly high: number
  /** The fullest page. */
  readonly most: number
}

const PAGE_CLAUDE: PageRule = { tokens: 2500, low: 500, high: 3000, most: 4600 }
const PAGE_GEMINI: PageRule = { tokens: 258, low: 258, high: 560, most: 560 }
const PAGE_ELSE: PageRule = { tokens: 1200, low: 200, high: 1600, most: 2400 }

const GEMINI_AUDIO_PER_SECOND = 32
const AUDIO_PER_SECOND = 10
const GEMINI_VIDEO_PER_SECOND = 300
/** Speech at the lowest usual bit rate: the most seconds that a number of bytes can hold. */
const LEAST_AUDIO_BYTES_PER_SECOND = 1000
const LEAST_VIDEO_BYTES_PER_SECOND = 20_000

/** Pages that are assumed behind a file id, the most that are assumed in a file that cannot be read, and the most that vendors take. */
const ASSUMED_PAGES = 6
const MOST_ASSUMED_PAGES = 30
const MOST_PAGES = 100
/** A packed page is seldom under 3 kB; pages with pictures have about this much, and scans twice as much. */
const LEAST_PAGE_BYTES = 3_000
const PAGE_BYTES = 100_000

/**
 * Tokens of a picture, document or sound by the vendor's own rules. The base64 text is never counted as text: the same picture
 * costs the same whether it was packed into 100 kB or 5 MB. What cannot be seen is `unknown`, never zero.
 */
export function countMedia(media: Media, { model, family, isKnown = true }: MediaTarget): Count {
  const count = byRule(media, model, family)
  return isKnown || count.source !== 'unknown' ? count : byBytes(media, count)
}

/** Where a picture goes. */
export interface MediaTarget {
  readonly model: string
  readonly family: string
  /** False for a model that is not in the catalogue, whose rule for media is unknown. @default true */
  readonly isKnown?: boolean
}

/** Four bytes to a token, as servers count that treat media as text. */
const BYTES_PER_TOKEN = 4

/** Neither the model's rule nor the picture's size is known: its bytes are the only thing that grows with what it may cost. */
function byBytes({ data }: Media, count: Count): Count {
  if (data === undefined) return count
  const tokens = Math.max(count.tokens, Math.ceil((data.length * 3) / 4 / BYTES_PER_TOKEN))
  return unknownCount(tokens, count.low, Math.max(count.high + (count.unsure ?? 0), tokens))
}

function byRule(media: Media, model: string, family: string): Count {
  switch (media.type) {
    case 'image':
      return image(media, model, family)
    case 'audio':
      return seconds(
        media,
        family === 'gemini' ? GEMINI_AUDIO_PER_SECOND : AUDIO_PER_SECOND,
        LEAST_AUDIO_BYTES_PER_SECOND,
      )
    case 'video':
      return seconds(media, GEMINI_VIDEO_PER_SECOND, LEAST_VIDEO_BYTES_PER_SECOND)
    case 'document':
    case 'file':
      return document(media, model, family)
  }
}

function image(media: Media, model: string, family: string): Count {
  const size = media.data === undefined ? undefined : imageSize(media.data)
  const { tokens, low, high } = imageTokens(model, family, size)
  return size === undefined ? unknownCount(tokens, low, high) : { tokens, low, high, source: 'estimate' }
}

function document(media: Media, model: string, family: string): Count {
  if (media.mime?.startsWith('image/') === true) return image(media, model, family)
  const rule = family.startsWith('claude') ? PAGE_CLAUDE : family === 'gemini' ? PAGE_GEMINI : PAGE_ELSE
  if (media.data === undefined) {
    return unknownCount(rule.tokens * ASSUMED_PAGES, rule.low, rule.most * MOST_PAGES)
  }
  const bytes = Math.floor((media.data.length * 3) / 4)
  if (media.mime?.startsWith('text/') === true || media.mime === 'application/json') {
    return {
      tokens: Math.ceil(bytes / 3.5),
      low: Math.floor(bytes / 5),
      high: Math.ceil(bytes / 2),
      source: 'estimate',
    }
  }
  const pages = pdfPages(media.data)
  if (pages !== undefined) {
    const { tokens, low, high, most } = rule
    return countFrom(tokens * pages, low * pages, high * pages, (most - high) * pages, 'estimate')
  }
  const most = Math.min(MOST_PAGES, Math.max(1, Math.ceil(bytes / LEAST_PAGE_BYTES)))
  const likely = Math.min(most, MOST_ASSUMED_PAGES, Math.max(1, Math.ceil(bytes / PAGE_BYTES)))
  return unknownCount(rule.tokens * likely, rule.low, rule.most * most)
}

function seconds(media: Media, perSecond: number, leastBytesPerSecond: number): Count {
  if (media.data === undefined) return unknownCount(perSecond * 60, perSecond, perSecond * 3600)
  const known = media.type === 'audio' ? audioSeconds(media.data) : undefined
  if (known !== undefined) {
    const tokens = Math.max(1, Math.ceil(known * perSecond))
    return { tokens, low: Math.floor(tokens * 0.9), high: Math.ceil(tokens * 1.1), source: 'estimate' }
  }
  const most = Math.max(1, Math.ceil((media.data.length * 3) / 4 / leastBytesPerSecond))
  return unknownCount(Math.ceil((most * perSecond) / 8), 1, most * perSecond)
}

/** How a vendor turns pixels into tokens: what is billed, and the least and most a picture of this size can cost. */
export interface ImageTokens {
  readonly tokens: number
  readonly low: number
  readonly high: number
}

/** Tokens of a picture on a model; without a size, the vendor's most expensive picture as the upper bound. */
function imageTokens(model: string, family: string, size: PixelSize | undefined): ImageTokens {
  if (family.startsWith('claude')) return claude(family === 'claude-2026', size)
  if (family === 'gemini') return gemini(model, size)
  return openai(model, size)
}

/**
 * width * height / 750 after the longer edge is brought down to 1,568 pixels and the whole to about 1,600 tokens; the newer
 * models see up to 2,576 pixels and 4,784 tokens.
 */
function claude(larger: boolean, size: PixelSize | undefined): ImageTokens {
  const most = larger ? 4784 : 1600
  if (size === undefined) return { tokens: most, low: 1, high: most }
  const edge = larger ? 2576 : 1568
  const scale = Math.min(1, edge / Math.max(size.width, size.height))
  const tokens = Math.max(1, Math.min(most, Math.ceil((size.width * scale * size.height * scale) / 750)))
  return { tokens, low: Math.floor(tokens * 0.95), high: Math.ceil(tokens * 1.05) + 4 }
}

const GEMINI_TILE = 258
/** Gemini 3 bills a fixed number per picture at its default resolution. */
const GEMINI_3 = 1120

function gemini(model: string, size: PixelSize | undefined): ImageTokens {
  if (/gemini-3/.test(model)) return { tokens: GEMINI_3, low: GEMINI_TILE, high: GEMINI_3 }
  if (size === undefined) return { tokens: GEMINI_TILE * 4, low: GEMINI_TILE, high: GEMINI_TILE * 16 }
  const { width, height } = size
  if (width <= 384 && height <= 384) return { tokens: GEMINI_TILE, low: GEMINI_TILE, high: GEMINI_TILE }
  const unit = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)))
  const tiles = Math.ceil(width / unit) * Math.ceil(height / unit)
  return { tokens: GEMINI_TILE * tiles, low: GEMINI_TILE, high: GEMINI_TILE * tiles }
}

/** OpenAI bills tiles of 512 pixels on most models and patches of 32 pixels on the small ones. */
interface TileRule {
  readonly base: number
  readonly tile: number
}

const TILE_RULES: readonly (readonly [RegExp, TileRule])[] = [
  [/4o-mini/, { base: 2833, tile: 5667 }],
  [/gpt-5/, { base: 70, tile: 140 }],
  [/\bo[134]/, { base: 75, tile: 150 }],
]
const TILES_ELSE: TileRule = { base: 85, tile: 170 }

const PATCH_RULES: readonly (readonly [RegExp, number])[] = [
  [/(gpt-5|gpt-4\.1)[\w.-]*nano/, 2.46],
  [/(gpt-5|gpt-4\.1)[\w.-]*mini/, 1.62],
  [/o4-mini/, 1.72],
]
const MAX_PATCHES = 1536

function openai(model: string, size: PixelSize | undefined): ImageTokens {
  const patch = PATCH_RULES.find(([pattern]) => pattern.test(model))
  if (patch !== undefined) {
    const patches =
      size === undefined ? MAX_PATCHES : Math.min(MAX_PATCHES, Math.ceil(size.width / 32) * Math.ceil(size.height / 32))
    const tokens = Math.ceil(patches * patch[1])
    return { tokens, low: size === undefined ? 1 : Math.floor(tokens * 0.95), high: tokens }
  }
  const { base, tile } = TILE_RULES.find(([pattern]) => pattern.test(model))?.[1] ?? TILES_ELSE
  const tokens = base + tile * (size === undefined ? MOST_TILES : tilesOf(size))
  // Low detail costs the base alone, and the wire's `detail` may be `auto`.
  return { tokens, low: base, high: tokens }
}

/** 768 by 2,048 pixels is the largest that the scaling leaves. */
const MOST_TILES = 8

function tilesOf({ width, height }: PixelSize): number {
  const fit = Math.min(1, 2048 / Math.max(width, height))
  const shorter = Math.min(width, height) * fit
  const scale = fit * Math.min(1, 768 / shorter)
  return Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
}

export interface PixelSize {
  readonly width: number
  readonly height: number
}

/** Enough for a JPEG whose size stands behind a large EXIF block. */
const HEADER_BYTES = 256 * 1024

/** Pixel size of a PNG, JPEG, GIF or WebP from its base64 text; undefined when the header is none of these or is cut. */
export function imageSize(base64: string): PixelSize | undefined {
  const comma = base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0
  // Four characters hold three bytes; a cut in the middle of a group would shift what follows, so the cut is at a group.
  const short = Buffer.from(base64.slice(comma, comma + 64), 'base64')
  return pngSize(short) ?? gifSize(short) ?? webpSize(short) ?? jpegOf(base64, comma, short)
}

function jpegOf(base64: string, from: number, head: Buffer): PixelSize | undefined {
  if (head.length < 2 || head.readUInt16BE(0) !== 0xffd8) return undefined
  return jpegSize(Buffer.from(base64.slice(from, from + Math.ceil(HEADER_BYTES / 3) * 4), 'base64'))
}

function pngSize(bytes: Buffer): PixelSize | undefined {
  if (bytes.length < 24 || bytes.readUInt32BE(0) !== 0x89504e47 || bytes.toString('latin1', 12, 16) !== 'IHDR')
    return undefined
  return positive(bytes.readUInt32BE(16), bytes.readUInt32BE(20))
}

function gifSize(bytes: Buffer): PixelSize | undefined {
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return undefined
  return positive(bytes.readUInt16LE(6), bytes.readUInt16LE(8))
}

function webpSize(bytes: Buffer): PixelSize | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined
  const chunk = bytes.toString('latin1', 12, 16)
  if (chunk === 'VP8X') return positive(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1)
  if (chunk === 'VP8 ') return positive(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff)
  if (chunk !== 'VP8L' || bytes[20] !== 0x2f) return undefined
  const packed = bytes.readUInt32LE(21)
  return positive((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1)
}

/** Walks the segments to the frame header, whose marker says how the picture is coded but whose size is always there. */
function jpegSize(bytes: Buffer): PixelSize | undefined {
  let at = 2
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at++
      continue
    }
    const standsAlone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)
    if (standsAlone) {
      at += 2
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return positive(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5))
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function positive(width: number, height: number): PixelSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined
}

/** Bytes of a base64 text that are searched for page marks. A larger file keeps its `/Count` near one of its ends. */
const SEARCH_BYTES = 4 * 1024 * 1024

/** What is unpacked of a file's object streams: page trees are small, and a hostile stream is not. */
const UNPACKED_BYTES = 4 * 1024 * 1024
const MOST_STREAMS = 2_000

/**
 * Pages of a PDF: the largest `/Count` of its page tree, else the number of page objects; in the clear, or in object streams as most writers
 * pack them today. Undefined when neither can be read: an encrypted file, or no PDF at all.
 */
export function pdfPages(base64: string): number | undefined {
  const text = searchable(base64)
  if (!text.startsWith('%PDF')) return undefined
  return pagesIn(text) ?? pagesIn(objectStreams(text))
}

function pagesIn(text: string): number | undefined {
  let most = 0
  for (const match of text.matchAll(
    /\/Type\s*\/Pages\b[^>]{0,400}?\/Count\s+(\d{1,6})|\/Count\s+(\d{1,6})[^>]{0,400}?\/Type\s*\/Pages\b/g,
  )) {
    most = Math.max(most, Number(match[1] ?? match[2]))
  }
  if (most > 0) return most
  const pages = text.match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0
  return pages > 0 ? pages : undefined
}

/** The text of all object streams, as far as the bound goes. */
function objectStreams(text: string): string {
  const found: string[] = []
  let left = UNPACKED_BYTES
  let at = text.indexOf('/ObjStm')
  for (let streams = 0; at !== -1 && streams < MOST_STREAMS && left > 0; streams++) {
    // The word stands right behind the dictionary that names the type.
    const word = text.slice(at, at + 400).indexOf('stream')
    const start = at + word + 'stream'.length
    const end = word === -1 ? -1 : text.indexOf('endstream', start)
    if (word !== -1 && end === -1) break
    if (end !== -1) {
      const unpacked = inflate(text.slice(start + (text[start] === '\r' ? 2 : 1), end), left)
      found.push(unpacked)
      left -= unpacked.length
    }
    at = text.indexOf('/ObjStm', Math.max(at + 7, end))
  }
  return found.join('\n')
}

function inflate(packed: string, most: number): string {
  try {
    const bytes = Buffer.from(packed, 'latin1')
    return inflateSync(bytes, { maxOutputLength: most, finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1')
  } catch {
    // Encrypted, packed in another way, or too long.
    return ''
  }
}

function searchable(base64: string): string {
  const comma = base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0
  const group = Math.ceil(SEARCH_BYTES / 3) * 4
  const head = Buffer.from(base64.slice(comma, comma + group), 'base64').toString('latin1')
  if (base64.length - comma <= group) return head
  const tailAt = comma + Math.max(group, Math.floor((base64.length - comma - group) / 4) * 4)
  return head + Buffer.from(base64.slice(tailAt), 'base64').toString('latin1')
}

/** Seconds of a WAV file from its header, or of an MP3 from the bit rate of its first frame. */
export function audioSeconds(base64: string): number | undefined {
  const comma = base64.startsWith('data:') ? base64.indexOf(',') + 1 : 0
  const bytes = Math.floor(((base64.length - comma) * 3) / 4)
  const head = Buffer.from(base64.slice(comma, comma + 16_384), 'base64')
  return wavSeconds(head, bytes) ?? mp3Seconds(head, bytes)
}

function wavSeconds(head: Buffer, bytes: number): number | undefined {
  if (head.length < 44 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE')
    return undefined
  const format = head.indexOf('fmt ', 12, 'latin1')
  if (format === -1 || format + 20 > head.length) return undefined
  const bytesPerSecond = head.readUInt32LE(format + 16)
  return bytesPerSecond > 0 ? bytes / bytesPerSecond : undefined
}

const MP3_KILOBITS = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]

function mp3Seconds(head: Buffer, bytes: number): number | undefined {
  const isTagged = head.toString('latin1', 0, 3) === 'ID3'
  let at = isTagged
    ? 10 + ((head[6]! & 127) << 21) + ((head[7]! & 127) << 14) + ((head[8]! & 127) << 7) + (head[9]! & 127)
    : 0
  for (; at + 3 < head.length; at++) {
    if (head[at] !== 0xff || (head[at + 1]! & 0xe6) !== 0xe2) continue
    const kilobits = MP3_KILOBITS[head[at + 2]! >> 4]
    return kilobits === undefined || kilobits === 0 ? undefined : (bytes * 8) / (kilobits * 1000)
  }
  return undefined
}
