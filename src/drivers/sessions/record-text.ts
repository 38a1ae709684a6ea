import { PlimsollError } from '../../core/errors.ts'
import { quotedTextOf } from '../../ports/quoted-texts.ts'
import { RECORD_VERSION, upgradeRecord, type LogRecord } from '../../core/records.ts'
import type { Seal, Stored } from '../crypto/seal.ts'
import { sha256Text } from '../crypto/sha256.ts'

/** A record as it lies in a database: its text, sealed or not, and a checksum over exactly that. */
export interface StoredText {
  readonly body: Stored
  readonly sum: string
  readonly bytes: number
}

export const toStored = (seal: Seal, tenant: string, record: LogRecord): StoredText =>
  textToStored(seal, tenant, encodeRecord(record))

export function textToStored(seal: Seal, tenant: string, text: string | Uint8Array): StoredText {
  const body = seal.seal(tenant, text)
  return { body, sum: checksum(body), bytes: typeof body === 'string' ? Buffer.byteLength(body) : body.length }
}

/** @throws PlimsollError `unsupported` for a record of a newer package, any other error for a damaged one. */
export function fromStored(seal: Seal, tenant: string, body: Stored, sum?: string): LogRecord {
  if (sum !== undefined && checksum(body) !== sum) throw new Error('The checksum does not match.')
  return decodeRecord(seal.open(tenant, body))
}

/** What an item's record is marked with where its text is kept once; a package that does not know it says so. */
const PACKED = 2
/** Shorter texts are kept twice: looking for them costs more than they do. */
const LEAST_PACKED = 64

export const encodeRecord = (record: LogRecord): string => recordPieces(record).join('')

/** The text of a record, in pieces. An item's own text stands inside the fragment that it was read from, as most clients write JSON: it is kept once. */
export function recordPieces(record: LogRecord): string[] {
  const isOwn = record.type === 'item-seen' && record.v === RECORD_VERSION
  if (!isOwn || record.text.length < LEAST_PACKED) return [JSON.stringify(record)]
  const { fragment } = record
  const quoted = quotedTextOf(record)
  const at = fragment.indexOf(quoted)
  if (at < 0) return [JSON.stringify(record)]
  const around = [fragment.slice(0, at), fragment.slice(at + quoted.length)]
  // Written around the quoted text: writing it once more would cost as much as all the rest.
  const rest = { ...record, v: PACKED, text: undefined, fragment: undefined, around }
  return [`${JSON.stringify(rest).slice(0, -1)},"text":`, quoted, '}']
}

function unpacked(stored: unknown): unknown {
  const { around, ...record } = stored as Readonly<Record<string, unknown>>
  if (record['v'] !== PACKED || !Array.isArray(around)) return stored
  const fragment = `${String(around[0])}${JSON.stringify(record['text'])}${String(around[1])}`
  return { ...record, v: RECORD_VERSION, fragment }
}

/** @throws PlimsollError `unsupported` for a record of a newer package, SyntaxError for torn text. */
export function decodeRecord(text: string): LogRecord {
  const record = upgradeRecord(unpacked(JSON.parse(text)))
  const version: unknown = record.v
  if (version === RECORD_VERSION) return record
  const supported: number = RECORD_VERSION
  throw new PlimsollError(
    'unsupported',
    `The store holds a record of version ${String(version)}; this package reads ${supported}.`,
    {
      advice: 'Use the package version that wrote it, or a newer one.',
      fields: { version, supported, store: 'records' },
    },
  )
}

const checksum = (body: Stored): string => sha256Text(body, 'base64url').slice(0, 16)
