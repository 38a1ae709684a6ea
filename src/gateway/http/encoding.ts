import zlib from 'node:zlib'
import { PlimsollError } from '../../core/errors.ts'

/** Body encodings that this Node can undo. Node 20 has no zstd. */
type Undo = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>

const promised =
  (
    run: (bytes: Uint8Array, options: zlib.ZlibOptions, done: (error: Error | null, out: Buffer) => void) => void,
  ): Undo =>
  (bytes, options) =>
    new Promise((resolve, reject) =>
      run(bytes, options, (error, out) => (error === null ? resolve(out) : reject(error))),
    )

type Zstd = { zstdDecompress?: Parameters<typeof promised>[0]; createZstdDecompress?: () => zlib.Gunzip }
const zstd = zlib as Zstd

const WHOLE: Readonly<Record<string, Undo | undefined>> = {
  gzip: promised((bytes, options, done) => zlib.gunzip(bytes, options, done)),
  'x-gzip': promised((bytes, options, done) => zlib.gunzip(bytes, options, done)),
  deflate: promised((bytes, options, done) => zlib.inflate(bytes, options, done)),
  br: promised((bytes, options, done) => zlib.brotliDecompress(bytes, options, done)),
  zstd: zstd.zstdDecompress === undefined ? undefined : promised(zstd.zstdDecompress),
}

const STREAMED: Readonly<Record<string, (() => zlib.Gunzip) | undefined>> = {
  gzip: () => zlib.createGunzip(),
  'x-gzip': () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress(),
  zstd: zstd.createZstdDecompress,
}

export const isEncoded = (encoding: string | undefined): encoding is string =>
  encoding !== undefined && encoding !== '' && encoding !== 'identity'

/**
 * The one encoding of a body; undefined when it is plain. Several on top of each other multiply what a small body can unpack to, and no
 * client of an API packs twice.
 * @throws PlimsollError `unsupported`
 */
function encodingOf(header: string | undefined): string | undefined {
  if (!isEncoded(header)) return undefined
  const names = header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (names.length <= 1) return names[0]
  throw new PlimsollError('unsupported', 'A body that is compressed more than once is not accepted.', {
    advice: `Send it as ${readable().join(', ')} or plain.`,
    fields: { encoding: header },
  })
}

/** @throws PlimsollError `unsupported` for an encoding that this Node does not know, `too-large` for what unpacks to too much. */
export async function decodeBody(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  const name = encodingOf(encoding)
  if (name === undefined) return bytes
  const undo = Object.hasOwn(WHOLE, name) ? WHOLE[name] : undefined
  if (undo === undefined) {
    throw new PlimsollError(
      'unsupported',
      `The body is encoded as ${JSON.stringify(name)}, which this proxy cannot read.`,
      {
        advice: `Send it as ${readable().join(', ')} or plain.`,
        fields: { encoding },
      },
    )
  }
  try {
    return await undo(bytes, { maxOutputLength: maxBytes })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBytes, cause)
    throw new PlimsollError('bad-input', `The body is not valid ${name}: ${(cause as Error).message}.`, { cause })
  }
}

export const bodyTooLarge = (maxBytes: number, cause?: unknown): PlimsollError =>
  new PlimsollError(
    'too-large',
    `The body is larger than the ${maxBytes.toLocaleString('en')} bytes that this proxy accepts.`,
    {
      advice: 'Raise --max-body, or send less.',
      fields: { maxBytes },
      cause,
    },
  )

const readable = (): string[] => Object.keys(WHOLE).filter((name) => WHOLE[name] !== undefined && name !== 'x-gzip')

/** What we may offer an upstream: the client's own list without encodings that we could not read along. */
export function readableEncodings(accepted: string | undefined): string {
  if (accepted === undefined) return 'identity'
  const names = accepted.split(',').map((name) => name.trim())
  const kept = names.filter((name) => WHOLE[name.split(';')[0]!.toLowerCase()] !== undefined)
  return kept.length === 0 ? 'identity' : kept.join(', ')
}

/** Unpacks a body on its way; undefined when it is plain. @throws PlimsollError `unsupported` for what this Node cannot read. */
export function unpacker(encoding: string | undefined): zlib.Gunzip | undefined {
  const name = encodingOf(encoding)
  if (name === undefined) return undefined
  const open = Object.hasOwn(STREAMED, name) ? STREAMED[name] : undefined
  if (open === undefined)
    throw new PlimsollError(
      'unsupported',
      `The answer is compressed as ${JSON.stringify(encoding)}, which cannot be read.`,
    )
  return open()
}

/** Whether an answer can be read along at all. */
export function isReadable(encoding: string | undefined): boolean {
  try {
    const name = encodingOf(encoding)
    return name === undefined || (Object.hasOwn(STREAMED, name) && STREAMED[name] !== undefined)
  } catch {
    return false
  }
}

/** Unpacks a copy of a body that passes by. Whatever goes wrong ends the copy and nothing else. */
interface CopyDecoder {
  push(chunk: Uint8Array): void
  /** Resolves when what was pushed so far has been handed on; undefined where it has been. */
  flushed(): Promise<void> | undefined
  /** Everything was handed on; false when it could not be: damaged, or larger than the limit. */
  end(): boolean | Promise<boolean>
}

/** @param maxBytes what may be handed on, unpacked; a copy that is longer ends there. Undefined for an encoding that cannot be read. */
export function copyDecoder(
  encoding: string | undefined,
  maxBytes: number,
  onBytes: (bytes: Uint8Array) => void,
): CopyDecoder | undefined {
  if (!isReadable(encoding)) return undefined
  let isWhole = true
  let size = 0
  const hand = (bytes: Uint8Array): void => {
    if (!isWhole) return
    size += bytes.length
    isWhole = size <= maxBytes
    try {
      if (isWhole) onBytes(bytes)
    } catch {
      isWhole = false
    }
  }
  const stream = unpacker(encoding)
  if (stream === undefined) return { push: hand, flushed: () => undefined, end: () => isWhole }
  stream.on('data', (bytes: Buffer) => {
    hand(bytes)
    if (!isWhole) stream.destroy()
  })
  const done = new Promise<void>((resolve) => {
    stream.on('error', () => {
      isWhole = false
      resolve()
    })
    stream.once('end', resolve).once('close', resolve)
  })
  let written = Promise.resolve()
  return {
    push(chunk) {
      if (!isWhole || stream.destroyed) return
      written = Promise.race([done, new Promise<void>((resolve) => void stream.write(chunk, () => resolve()))])
    },
    flushed: () => written,
    async end() {
      if (isWhole && !stream.destroyed) stream.end()
      await done
      return isWhole
    },
  }
}

/** One part of a path as it was meant. @throws PlimsollError `bad-input` */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new PlimsollError('bad-input', 'The path has a % that is not followed by two hexadecimal digits.', { cause })
  }
}
