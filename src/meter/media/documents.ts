import { constants, inflateSync } from 'node:zlib'

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
