import { pipeline } from 'node:stream'
import zlib from 'node:zlib'
import { PlimsollError } from '../../core/errors.ts'

/** Node 20 has no zstd. */
const { createZstdDecompress: zstd } = zlib as { createZstdDecompress?: () => zlib.Gunzip }

/** Body encodings that this Node version can decode. */
const UNPACK: ReadonlyMap<string, () => zlib.Gunzip> = new Map([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['deflate', () => zlib.createInflate()],
  ['br', () => zlib.createBrotliDecompress()],
  ...(zstd === undefined ? [] : [['zstd', zstd] as const]),
])

const advice = (): string => `Send it as ${[...UNPACK.keys()].filter((name) => name !== 'x-gzip').join(', ')} or plain.`

export const isEncoded = (encoding: string | undefined): encoding is string =>
  encoding !== undefined && encoding !== '' && encoding !== 'identity'

/**
 * Creates a decoder for a body's encoding; undefined for a plain body. Only one encoding is accepted: with several, a small body could unpack
 * to a huge one, and no API client encodes twice.
 * @throws PlimsollError `unsupported`
 */
export function unpacker(encoding: string | undefined): zlib.Gunzip | undefined {
  if (!isEncoded(encoding)) return undefined
  const names = encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  const [name] = names
  if (name === undefined) return undefined
  const fields = { encoding }
  if (names.length > 1)
    throw new PlimsollError('unsupported', 'A body that is compressed more than once is not accepted.', {
      advice: advice(),
      fields,
    })
  const open = UNPACK.get(name)
  if (open !== undefined) return open()
  throw new PlimsollError(
    'unsupported',
    `The body is encoded as ${JSON.stringify(name)}, which this proxy cannot read.`,
    { advice: advice(), fields },
  )
}

/** @throws PlimsollError `unsupported` for an encoding that this Node does not know, `too-large` for what unpacks to too much. */
export async function decodeBody(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  const unpack = unpacker(encoding)
  if (unpack === undefined) return bytes
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of pipeline([bytes], unpack, () => undefined) as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > maxBytes) throw bodyTooLarge(maxBytes)
      pieces.push(piece)
    }
    return Buffer.concat(pieces, size)
  } catch (cause) {
    if (cause instanceof PlimsollError) throw cause
    throw new PlimsollError('bad-input', `The body is not valid ${encoding}: ${(cause as Error).message}.`, { cause })
  }
}

export const bodyTooLarge = (maxBytes: number): PlimsollError =>
  new PlimsollError(
    'too-large',
    `The body is larger than the ${maxBytes.toLocaleString('en')} bytes that this proxy accepts.`,
    { advice: 'Raise --max-body, or send less.', fields: { maxBytes } },
  )

/** Decodes one part of a path. @throws PlimsollError `bad-input` */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new PlimsollError('bad-input', 'The path has a % that is not followed by two hexadecimal digits.', { cause })
  }
}
