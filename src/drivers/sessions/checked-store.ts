import { PlimsollError } from '../../core/errors.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'

const MAX_NAME_LENGTH = 512
// NUL and lone surrogates do not survive every database; a name that changes on its way would address another log.
const UNSAFE = /[\0\p{Surrogate}]/u

/** Names of tenants, sessions, leases and values are opaque, but must come back from any database as they went in. */
function checkName(what: string, name: string): void {
  if (name.length <= MAX_NAME_LENGTH && !UNSAFE.test(name)) return
  throw new PlimsollError('bad-input', `The ${what} is longer than ${MAX_NAME_LENGTH} characters or not valid text.`, {
    advice: 'Hash it first.',
    fields: { length: name.length },
  })
}

function checkSession(tenant: string, session: string): void {
  checkName('tenant', tenant)
  checkName('session name', session)
  if (session === '') throw new PlimsollError('bad-input', 'A session needs a name.')
}

export const conflict = (session: string, expected: number, actual: number): PlimsollError =>
  new PlimsollError('conflict', `Session ${session} is at version ${actual}; the append expected ${expected}.`, {
    advice: 'Read the new records and try again.',
    fields: { session, expected, actual },
    retryable: true,
  })

export const noSuchSession = (session: string): PlimsollError =>
  new PlimsollError('not-found', `There is no session ${session} to fork.`, { fields: { session } })

export const forkTargetExists = (session: string): PlimsollError =>
  new PlimsollError('conflict', `Session ${session} exists already.`, {
    advice: 'Fork to a new name.',
    fields: { session },
  })

export const badForkVersion = (session: string, version: number, last: number): PlimsollError =>
  new PlimsollError('bad-input', `Session ${session} has versions 1 to ${last}; ${version} is none of them.`, {
    fields: { session, version, last },
  })

/** Order of names in every listing: by code point, as UTF-8 bytes sort. */
export const byName = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

export const DEFAULT_LIST_LIMIT = 1000
export const DEFAULT_SEARCH_LIMIT = 20

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
