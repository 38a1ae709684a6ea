import { PlimsollError } from '../../core/errors.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'

const MAX_NAME_LENGTH = 512
// NUL and lone surrogates do not survive every database; a name that changes on its way would address another log.
const UNSAFE = /[\0\p{Surrogate}]/u

/** Names of tenants, sessions, leases and values are opaque, but must come back from any database as they went in. */
function checkName(what: string, name: string): void {
  if (what === 'session name' && name === '') throw new PlimsollError('bad-input', 'A session needs a name.')
  if (name.length <= MAX_NAME_LENGTH && !UNSAFE.test(name)) return
  throw new PlimsollError('bad-input', `The ${what} is longer than ${MAX_NAME_LENGTH} characters or not valid text.`, {
    advice: 'Hash it first.',
    fields: { length: name.length },
  })
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

const SESSION = ['tenant', 'session name']

/** The names among the arguments of each call, in their order. Some have a session in their last argument, the options, as well. */
const NAMED = {
  append: SESSION,
  version: SESSION,
  findEpochs: ['tenant'],
  claimEpoch: SESSION,
  findEdits: ['tenant'],
  seen: ['tenant'],
  list: ['tenant'],
  search: ['tenant'],
  fork: [...SESSION, 'session name'],
  remove: SESSION,
  prune: ['tenant'],
  lease: ['tenant', 'lease', 'holder'],
  releaseLease: ['tenant', 'lease', 'holder'],
  getValue: ['tenant', 'key'],
  setValue: ['tenant', 'key'],
} satisfies Partial<Record<keyof MaintainedStore, readonly string[]>>

type Call = (...given: readonly unknown[]) => Promise<unknown>

/** The one place where names are checked: a driver behind it sees only names that its database gives back unchanged. */
export function checkedStore(store: MaintainedStore): MaintainedStore {
  const calls = Object.entries(NAMED).map(([call, names]): [string, Call] => [
    call,
    async (...given) => {
      for (const [i, what] of names.entries()) checkName(what, given[i] as string)
      const { session } = Object(given.at(-1)) as { session?: unknown }
      if (typeof session === 'string') checkName('session name', session)
      return (store[call as keyof typeof NAMED] as Call)(...given)
    },
  ])
  return {
    ...store,
    ...(Object.fromEntries(calls) as Pick<MaintainedStore, keyof typeof NAMED>),
    async *read(tenant, session, afterVersion) {
      checkName('tenant', tenant)
      checkName('session name', session)
      yield* store.read(tenant, session, afterVersion)
    },
  }
}
