import { messageOf } from '../../core/values.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { type LogRecord, RECORD_VERSION } from '../../core/records.ts'
import type { Seal, Stored } from '../crypto/seal.ts'
import { sha256Text } from '../crypto/sha256.ts'
import type { StoreProblem } from '../../ports/store-maintenance.ts'

/** A stored record: its text, sealed or not, and a checksum of exactly that. */
export interface StoredText {
  readonly body: Stored
  readonly sum: string
  readonly bytes: number
}

export function toStored(seal: Seal, tenant: string, record: LogRecord): StoredText {
  const body = seal.seal(tenant, encodeRecord(record))
  return { body, sum: checksum(body), bytes: typeof body === 'string' ? Buffer.byteLength(body) : body.length }
}

/** @throws PlimsollError `unsupported` for a record of a newer package, any other error for a damaged one. */
export function fromStored(seal: Seal, tenant: string, body: Stored, sum?: string): LogRecord {
  if (sum !== undefined && checksum(body) !== sum) throw new Error('The checksum does not match.')
  return decodeRecord(seal.open(tenant, body))
}

/** Marks an item's record whose text is stored once; older versions report that they cannot read it. */
const PACKED = 2
/** Shorter texts are stored twice, because searching for them would cost more. */
const LEAST_PACKED = 64

/** An item's text is usually contained in its JSON fragment, so it is stored once. */
function encodeRecord(record: LogRecord): string {
  const isOwn = record.type === 'item-seen' && record.v === RECORD_VERSION
  if (!isOwn || record.text.length < LEAST_PACKED) return JSON.stringify(record)
  const { fragment } = record
  const quoted = JSON.stringify(record.text)
  const at = fragment.indexOf(quoted)
  if (at < 0) return JSON.stringify(record)
  const around = [fragment.slice(0, at), fragment.slice(at + quoted.length)]
  // The record is written around the quoted text, because quoting it again would cost as much as everything else.
  const rest = JSON.stringify({ ...record, v: PACKED, text: undefined, fragment: undefined, around })
  return `${rest.slice(0, -1)},"text":${quoted}}`
}

function unpacked(stored: unknown): unknown {
  const { around, ...record } = stored as Readonly<Record<string, unknown>>
  if (record['v'] !== PACKED || !Array.isArray(around)) return stored
  const fragment = `${String(around[0])}${JSON.stringify(record['text'])}${String(around[1])}`
  return { ...record, v: RECORD_VERSION, fragment }
}

/** @throws PlimsollError `unsupported` for a record of a newer package, SyntaxError for torn text. */
function decodeRecord(text: string): LogRecord {
  const record = unpacked(JSON.parse(text)) as LogRecord
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

/** What a driver provides for reading a record. */
export interface ReadContext {
  readonly seal: Seal
  readonly onDamage: (problem: StoreProblem) => void
}

/** Damage is reported and gives undefined, so that one bad record costs one record. */
export function readRecord(
  { seal, onDamage }: ReadContext,
  tenant: string,
  stored: { readonly body: Stored; readonly sum: string },
  where: { readonly session: string; readonly version: number },
): LogRecord | undefined {
  try {
    return fromStored(seal, tenant, stored.body, stored.sum)
  } catch (error) {
    if (isPlimsollError(error)) throw error
    onDamage({ kind: 'unreadable', tenant, ...where, message: messageOf(error) })
    return undefined
  }
}

/** Tenant numbers are digits, so the first `x` ends them and no word of one tenant is a word of another. */
export const wordKey = ({ seal }: ReadContext, tenantName: string, tenant: number, word: string): string =>
  `${tenant}x${seal.blindWord(tenantName, word)}`

/** The default listener for records that cannot be read: loud, and the session goes on without them. */
export function warnOfDamage(problem: StoreProblem): void {
  const where = `session ${problem.session ?? ''}, version ${problem.version ?? 0}`
  process.emitWarning(`A stored record cannot be read and was left out (${where}). ${problem.message}`, {
    type: 'PlimsollDamage',
  })
}
