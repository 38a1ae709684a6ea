/** Text out of what a tool returned: bytes are decoded when they are UTF-8, else they stay binary. */
export type Source =
  | { readonly encoding: 'utf-8'; readonly text: string; readonly bytes: number }
  | {
      readonly encoding: 'binary'
      readonly data: Uint8Array
      readonly bytes: number
      readonly format: string
      readonly mime: string
    }

const MAGIC: readonly {
  readonly bytes: readonly number[]
  readonly at?: number
  readonly format: string
  readonly mime: string
}[] = [
  { bytes: [0x89, 0x50, 0x4e, 0x47], format: 'png', mime: 'image/png' },
  { bytes: [0xff, 0xd8, 0xff], format: 'jpeg', mime: 'image/jpeg' },
  { bytes: [0x47, 0x49, 0x46, 0x38], format: 'gif', mime: 'image/gif' },
  { bytes: [0x57, 0x45, 0x42, 0x50], at: 8, format: 'webp', mime: 'image/webp' },
  { bytes: [0x25, 0x50, 0x44, 0x46], format: 'pdf', mime: 'application/pdf' },
  { bytes: [0x1f, 0x8b], format: 'gzip', mime: 'application/gzip' },
  { bytes: [0x50, 0x4b, 0x03, 0x04], format: 'zip', mime: 'application/zip' },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], format: 'zstd', mime: 'application/zstd' },
  { bytes: [0x7f, 0x45, 0x4c, 0x46], format: 'elf', mime: 'application/x-elf' },
  { bytes: [0x00, 0x61, 0x73, 0x6d], format: 'wasm', mime: 'application/wasm' },
  { bytes: [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65], format: 'sqlite', mime: 'application/vnd.sqlite3' },
  { bytes: [0x50, 0x41, 0x52, 0x31], format: 'parquet', mime: 'application/vnd.apache.parquet' },
]

export function readSource(input: string | Uint8Array): Source {
  if (typeof input === 'string') return { encoding: 'utf-8', text: withoutMark(input), bytes: Buffer.byteLength(input) }
  const magic = magicOf(input)
  if (magic === undefined && !hasNul(input)) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(input)
      return { encoding: 'utf-8', text, bytes: input.byteLength }
    } catch {
      // Not UTF-8: described instead of decoded, since a guess would show text that is not there.
    }
  }
  return {
    encoding: 'binary',
    data: input,
    bytes: input.byteLength,
    ...(magic ?? { format: 'unknown', mime: 'application/octet-stream' }),
  }
}

/** A byte order mark would hide the first brace from every detector. */
const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)

const hasNul = (data: Uint8Array): boolean => data.subarray(0, 65_536).includes(0)

export function magicOf(data: Uint8Array): { format: string; mime: string } | undefined {
  const found = MAGIC.find(({ bytes, at = 0 }) => bytes.every((byte, i) => data[at + i] === byte))
  return found === undefined ? undefined : { format: found.format, mime: found.mime }
}
