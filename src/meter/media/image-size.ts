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
