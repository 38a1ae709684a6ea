import { PlimsollError } from '../../core/errors.ts'
import { RECORD_VERSION, upgradeRecord } from '../../core/records.ts'
import type { LogRecord } from '../../core/records.ts'
import type { Seal, Stored } from '../crypto/seal.ts'
import { sha256Text } from '../crypto/sha256.ts'

/** A record as it lies in a database: its text, sealed or not, and a checksum over exactly that. */
export interface StoredText {
  readonly body: Stored
  readonly sum: string
  readonly bytes: number
}

export function toStored(seal: Seal, tenant: string, record: LogRecord): StoredText {
  const body = seal.seal(tenant, JSON.stringify(record))
  return { body, sum: checksum(body), bytes: typeof body === 'string' ? Buffer.byteLength(body) : body.length }
}

/** @throws PlimsollError `unsupported` for a record of a newer package, any other error for a damaged one. */
export function fromStored(seal: Seal, tenant: string, body: Stored, sum?: string): LogRecord {
  if (sum !== undefined && checksum(body) !== sum) throw new Error('The checksum does not match.')
  return decodeRecord(seal.open(tenant, body))
}

/** @throws PlimsollError `unsupported` for a record of a newer package, SyntaxError for torn text. */
export function decodeRecord(text: string): LogRecord {
  const record = upgradeRecord(JSON.parse(text))
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
