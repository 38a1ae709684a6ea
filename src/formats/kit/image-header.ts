export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** What the first bytes of a picture say about it. Sizes are missing when the header is cut or unusual. */
export interface ImageHeader {
  readonly type: ImageType
  readonly width?: number
  readonly height?: number
}

// JPEG keeps its size behind metadata segments of up to 64 KiB each; two of them are read, more are rare.
const HEADER_BASE64_CHARS = 176_000

/** Reads type and pixel size from base64 picture data without decoding the picture. Undefined for anything unknown. */
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
    // SOF0–SOF15 carry the size; DHT, JPG and DAC share the range and do not.
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
