import {
  type Audit,
  type Epoch,
  type FirstSendEdit,
  type ItemSeen,
  type LogRecord,
  RECORD_VERSION,
  type Undo,
} from '../../core/records.ts'
import type { Clock } from '../../ports/clock.ts'
import type { SessionStore, StoredRecord } from '../../ports/session-store.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'

/** The empty store that is tested. */
export interface StoreSubject {
  /** A handle on the store's data; a second one acts as a second process. `dispose` closes all handles. */
  open(options?: { clock?: Clock }): MaintainedStore | Promise<MaintainedStore>
  /** Closes every handle and removes the data. */
  dispose(): Promise<void>
}

/** One case of the contract, for any test runner: it resolves or throws. */
export interface StoreCase {
  readonly name: string
  run(subject: StoreSubject): Promise<void>
}

type ManualClock = ReturnType<typeof manualClock>

/** Cases by name. Each gets an empty store, its clock, and a function that opens further handles. */
export type StoreCases = Readonly<
  Record<string, (store: MaintainedStore, clock: ManualClock, subject: StoreSubject) => Promise<void>>
>

/** A clock that only moves when `advance` is called. */
export function manualClock(start = 1_000_000): Clock & { advance(ms: number): void } {
  let now = start
  return {
    now: () => now,
    advance(ms) {
      now += ms
    },
  }
}

export const item = (identity: string, text = `text of ${identity}`, at = 1): ItemSeen => ({
  v: RECORD_VERSION,
  type: 'item-seen',
  at,
  identity,
  chain: `chain-${identity}`,
  kind: 'user',
  role: 'user',
  fragment: JSON.stringify(text),
  text,
})

export const epoch = (id: string, cover: string, summary = `summary ${id}`): Epoch => ({
  v: RECORD_VERSION,
  type: 'epoch',
  at: 2,
  id,
  cover,
  count: 2,
  cut: 2,
  identities: ['one', 'two'],
  edits: [
    { op: 'drop', from: 0, to: 2, reason: 'folded' },
    { op: 'insert', at: 0, role: 'user', text: summary, reason: 'summary' },
  ],
  forced: false,
  reason: 'high water',
  policy: 'plimsoll',
  before: 100,
  after: 10,
})

export const undo = (id: string): Undo => ({ v: RECORD_VERSION, type: 'undo', at: 3, epoch: id })

export const edit = (key: string, text = 'preview'): FirstSendEdit => ({
  v: RECORD_VERSION,
  type: 'edit',
  at: 4,
  key,
  text,
  reason: 'large result',
  handle: 'art_00000000000000000000000000',
})

export const audit = (reason: string): Audit => ({
  v: RECORD_VERSION,
  type: 'audit',
  at: 5,
  action: 'offload',
  reason,
  originalBytes: 10,
  shownBytes: 1,
})

export async function readAll(
  store: SessionStore,
  tenant: string,
  session: string,
  after?: number,
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = []
  for await (const record of store.read(tenant, session, after)) records.push(record)
  return records
}

export const numbered = (records: readonly LogRecord[], first = 1): StoredRecord[] =>
  records.map((record, i) => ({ version: first + i, record }))
