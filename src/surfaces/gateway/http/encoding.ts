import zlib from 'node:zlib'
import { PlimsollError } from '../../../core/errors.ts'

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

/** @throws PlimsollError `unsupported` for an encoding that this Node does not know, `too-large` for what unpacks to too much. */
export async function decodeBody(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  if (!isEncoded(encoding)) return bytes
  let out = bytes
  // Applied in the order of the list, so undone from its end.
  for (const name of encoding.toLowerCase().split(',').toReversed()) {
    const undo = WHOLE[name.trim()]
    if (undo === undefined) {
      throw new PlimsollError(
        'unsupported',
        `The body is encoded as ${JSON.stringify(name.trim())}, which this proxy cannot read.`,
        {
          advice: `Send it as ${readable().join(', ')} or plain.`,
          fields: { encoding },
        },
      )
    }
    try {
      out = await undo(out, { maxOutputLength: maxBytes })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxBytes, cause)
      throw new PlimsollError('bad-input', `The body is not valid ${name.trim()}: ${(cause as Error).message}.`, {
        cause,
      })
    }
  }
  return out
}

export const bodyTooLarge = (maxBytes: number, cause?: unknown): PlimsollError =>
  new PlimsollError(
    'too-large',
    `The body is larger than the ${maxBytes.toLocaleString('en')} bytes that this proxy accepts.`,
    {
      advice: 'Raise --max-body, or send less.',
      fields: { maxBytes },
      ...(cause !== undefined && { cause }),
    },
  )

const readable = (): string[] => Object.keys(WHOLE).filter((name) => WHOLE[name] !== undefined && name !== 'x-gzip')

/** What we may offer an upstream: the client's own list without encodings that we could not read along. */
export function readableEncodings(accepted: string | undefined): string {
  const names = (accepted ?? '').split(',').map((name) => name.trim())
  const kept = names.filter((name) => WHOLE[name.split(';')[0]!.toLowerCase()] !== undefined)
  return kept.length === 0 ? 'identity' : kept.join(', ')
}

/** Unpacks a copy of a body that passes by. `push` takes what came, `end` resolves when everything was handed on. */
export interface CopyDecoder {
  push(chunk: Uint8Array): void
  /** Resolves when what was pushed so far has been handed on. */
  flushed(): Promise<void>
  end(): Promise<void>
}

/** Unpacks a body on its way; undefined when it is plain. @throws PlimsollError `unsupported` for what this Node cannot read. */
export function unpacker(encoding: string | undefined): zlib.Gunzip | undefined {
  if (!isEncoded(encoding)) return undefined
  const open = STREAMED[encoding.toLowerCase().trim()]
  if (open === undefined) throw new PlimsollError('unsupported', `The answer is packed as ${JSON.stringify(encoding)}.`)
  return open()
}

export function copyDecoder(
  encoding: string | undefined,
  onBytes: (bytes: Uint8Array) => void,
): CopyDecoder | undefined {
  if (!isEncoded(encoding)) return { push: onBytes, flushed: async () => undefined, end: async () => undefined }
  const open = STREAMED[encoding.toLowerCase().trim()]
  if (open === undefined) return undefined
  const stream = open()
  let failed = false
  stream.on('data', (bytes: Buffer) => onBytes(bytes))
  const done = new Promise<void>((resolve) => {
    stream.once('error', () => {
      failed = true
      resolve()
    })
    stream.once('end', resolve)
  })
  let written = Promise.resolve()
  return {
    push(chunk) {
      if (failed) return
      written = Promise.race([done, new Promise<void>((resolve) => void stream.write(chunk, () => resolve()))])
    },
    flushed: () => written,
    end() {
      if (!failed) stream.end()
      return done
    },
  }
}
