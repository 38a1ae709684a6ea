import { createHash } from 'node:crypto'
import { type Epoch, type ItemSeen, type LogRecord, RECORD_VERSION } from '../../src/core/records.ts'
import type { SessionStore, StoredRecord } from '../../src/ports/session-store.ts'

/*
 * What the crashing process writes. Every record can be judged alone: its text follows from its identity, and its agent
 * field names the batch that it was written in, with the batch's size.
 */

export const TENANT = 'crash'

export interface Acknowledged {
  readonly op: 'append' | 'claim' | 'fork'
  readonly session: string
  readonly version: number
  /** Identities of the appended items. */
  readonly identities?: readonly string[]
  readonly cover?: string
  readonly epoch?: string
  readonly from?: string
}

/** From a few bytes to some pages of text. */
function textOf(identity: string): string {
  const digest = createHash('sha256').update(identity).digest('hex')
  const size = Number.parseInt(digest.slice(0, 4), 16) % 6000
  return digest.repeat(Math.ceil(size / 64)).slice(0, size)
}

export const itemOf = (identity: string, batch: string): ItemSeen => ({
  v: RECORD_VERSION,
  type: 'item-seen',
  at: 1,
  agent: batch,
  identity,
  chain: `chain-${identity}`,
  kind: 'result',
  role: 'tool',
  text: textOf(identity),
  fragment: JSON.stringify(textOf(identity)),
})

export const epochOf = (id: string, cover: string): Epoch => ({
  v: RECORD_VERSION,
  type: 'epoch',
  at: 1,
  id,
  cover,
  count: 20,
  cut: 20,
  identities: Array.from({ length: 20 }, (_, i) => textOf(`${id}-${i}`).slice(0, 64)),
  edits: [{ op: 'insert', at: 0, role: 'user', text: textOf(id), reason: 'summary' }],
  forced: false,
  reason: 'high water',
  policy: 'plimsoll',
  before: 10,
  after: 1,
})

/** Throws at the first record that is not exactly what its writer meant. */
export function checkLog(session: string, log: readonly StoredRecord[]): void {
  const batches = new Map<string, number[]>()
  log.forEach(({ version, record }, i) => {
    if (version !== i + 1) throw new Error(`${session} has version ${version} at place ${i + 1}.`)
    const expected = meant(record)
    if (JSON.stringify(record) !== JSON.stringify(expected)) throw new Error(`${session} version ${version} is torn.`)
    if (record.agent !== undefined) batches.set(record.agent, [...(batches.get(record.agent) ?? []), version])
  })
  for (const [batch, versions] of batches) {
    const size = Number(batch.split('/')[1])
    const whole =
      versions.length === size && versions.every((version, i) => i === 0 || version === (versions[i - 1] ?? 0) + 1)
    if (!whole) throw new Error(`${session} has ${versions.length} records of batch ${batch}.`)
  }
}

function meant(record: LogRecord): LogRecord {
  if (record.type === 'item-seen') return itemOf(record.identity, record.agent ?? '')
  if (record.type === 'epoch') return epochOf(record.id, record.cover)
  return record
}

export async function logOf(store: SessionStore, session: string): Promise<StoredRecord[]> {
  const log: StoredRecord[] = []
  for await (const record of store.read(TENANT, session)) log.push(record)
  return log
}

/** Throws when something that was acknowledged is not there. */
export async function checkAcknowledged(
  store: SessionStore,
  logs: ReadonlyMap<string, readonly StoredRecord[]>,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  for (const ack of acknowledged) {
    const log = logs.get(ack.session) ?? []
    if (ack.op === 'claim') {
      const found = await store.findEpochs(TENANT, [ack.cover ?? ''])
      if (found.length !== 1 || found[0]?.epoch.id !== ack.epoch)
        throw new Error(`The winner on ${ack.cover ?? ''} changed.`)
      if (!log.some(({ record }) => record.type === 'epoch' && record.id === ack.epoch)) {
        throw new Error(`${ack.session} lost the epoch ${ack.epoch ?? ''}.`)
      }
    } else if (ack.op === 'fork') {
      const source = logs.get(ack.from ?? '') ?? []
      const same = JSON.stringify(log.slice(0, ack.version)) === JSON.stringify(source.slice(0, ack.version))
      if (log.length < ack.version || !same) throw new Error(`The fork ${ack.session} is not the log it was made from.`)
    } else {
      const identities = ack.identities ?? []
      const there = log
        .slice(ack.version - identities.length, ack.version)
        .map(({ record }) => (record.type === 'item-seen' ? record.identity : ''))
      if (JSON.stringify(there) !== JSON.stringify(identities)) {
        throw new Error(`${ack.session} lost acknowledged records before version ${ack.version}.`)
      }
    }
  }
}
