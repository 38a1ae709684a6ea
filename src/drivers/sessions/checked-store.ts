import type { MaintainedStore } from '../../ports/store-maintenance.ts'
import { checkName, checkSession } from './checks.ts'

/** The one place where names are judged: a driver behind it sees only names that its database gives back unchanged. */
export function checkedStore(store: MaintainedStore): MaintainedStore {
  return {
    ...store,
    append: (tenant, session, records, expectedVersion, options) =>
      judged(
        () => checkSession(tenant, session),
        () => store.append(tenant, session, records, expectedVersion, options),
      ),
    // Judged when it is read from, like every other call that answers later; passed on as it is, since records are many.
    read: (tenant, session, afterVersion) => ({
      [Symbol.asyncIterator]() {
        checkSession(tenant, session)
        return store.read(tenant, session, afterVersion)[Symbol.asyncIterator]()
      },
    }),
    version: (tenant, session) =>
      judged(
        () => checkSession(tenant, session),
        () => store.version(tenant, session),
      ),
    findEpochs: (tenant, chainHashes) =>
      judged(
        () => checkName('tenant', tenant),
        () => store.findEpochs(tenant, chainHashes),
      ),
    async claimEpoch(tenant, session, epoch) {
      checkSession(tenant, session)
      return store.claimEpoch(tenant, session, epoch)
    },
    findEdits: (tenant, keys) =>
      judged(
        () => checkName('tenant', tenant),
        () => store.findEdits(tenant, keys),
      ),
    async seen(tenant, identities, options = {}) {
      checkName('tenant', tenant)
      if (options.session !== undefined) checkSession(tenant, options.session)
      return store.seen(tenant, identities, options)
    },
    async list(tenant, options = {}) {
      checkName('tenant', tenant)
      if (options.after !== undefined) checkName('session name', options.after)
      return store.list(tenant, options)
    },
    async search(tenant, query, options = {}) {
      checkName('tenant', tenant)
      if (options.session !== undefined) checkSession(tenant, options.session)
      return store.search(tenant, query, options)
    },
    async fork(tenant, from, to, version) {
      checkSession(tenant, from)
      checkSession(tenant, to)
      return store.fork(tenant, from, to, version)
    },
    async remove(tenant, session) {
      checkSession(tenant, session)
      return store.remove(tenant, session)
    },
    async prune(tenant, before) {
      checkName('tenant', tenant)
      return store.prune(tenant, before)
    },
    async lease(tenant, work, holder, ttlMs) {
      checkLease(tenant, work, holder)
      return store.lease(tenant, work, holder, ttlMs)
    },
    async releaseLease(tenant, work, holder) {
      checkLease(tenant, work, holder)
      return store.releaseLease(tenant, work, holder)
    },
    getValue: (tenant, key) =>
      judged(
        () => checkValue(tenant, key),
        () => store.getValue(tenant, key),
      ),
    setValue: (tenant, key, value, ifAbsent, options) =>
      judged(
        () => checkValue(tenant, key, options?.session),
        () => store.setValue(tenant, key, value, ifAbsent, options),
      ),
  }
}

/** A name that is refused rejects, like every other failure. What is asked with every request costs no promise more for it. */
function judged<T>(judge: () => void, ask: () => Promise<T>): Promise<T> {
  try {
    judge()
    return ask()
  } catch (error) {
    return Promise.reject(error as Error)
  }
}

function checkValue(tenant: string, key: string, session?: string): void {
  checkName('tenant', tenant)
  checkName('key', key)
  if (session !== undefined) checkSession(tenant, session)
}

function checkLease(tenant: string, work: string, holder: string): void {
  checkName('tenant', tenant)
  checkName('lease', work)
  checkName('holder', holder)
}
