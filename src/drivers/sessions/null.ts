import type { MaintainedStore } from '../../ports/store-maintenance.ts'

const always =
  <T>(value: T) =>
  async (): Promise<T> =>
    value

/**
 * Keeps nothing: for measuring the engine without a store, and for callers who must not archive. Nothing that is taken out
 * can be given back, no edit survives a resend, and every lease is granted.
 */
export const nullStore = (): MaintainedStore => ({
  name: 'null',
  append: async (_tenant, _session, records, expectedVersion = 0) => expectedVersion + records.length,
  async *read() {},
  version: always(0),
  findEpochs: always([]),
  claimEpoch: async (_tenant, session, epoch) => ({ session, epoch, undoneIn: [] }),
  findEdits: always([]),
  seen: always(new Set<string>()),
  list: always([]),
  search: always([]),
  fork: always(0),
  remove: always(false),
  prune: always([]),
  lease: always(true),
  releaseLease: always(undefined),
  getValue: always(undefined),
  setValue: async (_tenant, _key, value) => value,
  tenants: always([]),
  check: always([]),
  stats: always({
    driver: 'null',
    schemaVersion: 0,
    sealed: false,
    tenants: 0,
    sessions: 0,
    records: 0,
    recordBytes: 0,
    epochs: 0,
  }),
  migrate: always({ from: 0, to: 0, applied: [] }),
  close: always(undefined),
})
