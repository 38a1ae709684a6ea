import type { MaintainedStore } from '../../ports/store-maintenance.ts'

/**
 * Keeps nothing: for measuring the engine without a store, and for callers who must not archive. Nothing that is taken out
 * can be given back, no edit survives a resend, and every lease is granted.
 */
export function nullStore(): MaintainedStore {
  return {
    name: 'null',
    async append(_tenant, _session, records, expectedVersion = 0) {
      return expectedVersion + records.length
    },
    async *read() {},
    async version() {
      return 0
    },
    async findEpochs() {
      return []
    },
    async claimEpoch(_tenant, session, epoch) {
      return { session, epoch, undoneIn: [] }
    },
    async findEdits() {
      return []
    },
    async seen() {
      return new Set()
    },
    async list() {
      return []
    },
    async search() {
      return []
    },
    async fork() {
      return 0
    },
    async remove() {
      return false
    },
    async prune() {
      return []
    },
    async lease() {
      return true
    },
    async releaseLease() {},
    async getValue() {
      return undefined
    },
    async setValue(_tenant, _key, value) {
      return value
    },
    async tenants() {
      return []
    },
    async check() {
      return []
    },
    async stats() {
      return {
        driver: 'null',
        schemaVersion: 0,
        sealed: false,
        tenants: 0,
        sessions: 0,
        records: 0,
        recordBytes: 0,
        epochs: 0,
      }
    },
    async migrate() {
      return { from: 0, to: 0, applied: [] }
    },
    async close() {},
  }
}
