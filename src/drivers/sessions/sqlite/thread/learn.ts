import { jointKey } from '../../../../util/joint-key.ts'
import type { Context } from '../context.ts'
import { countOf, entriesOf, keysIn, type Entries } from '../entries.ts'
import type { ArgsOf, JobName, ResultOf } from '../jobs.ts'
import { headKey } from '../log.ts'

type Learn = { [K in JobName]: (context: Context, args: ArgsOf<K>, result: ResultOf<K>, isNewest: boolean) => void }

/** What this process has read ahead, brought up to what its thread has committed. */
const lessons: Learn = {
  append(context, [tenant, session, entries], { id, version, bytes, tenant: number }, isNewest) {
    if (countOf(entries) === 0) return
    noteKeys(context, tenant, number, entries)
    const key = headKey(number, session)
    const known = context.cache.heads.peek(key)
    const isNewer = known === undefined || known.id < id || (known.id === id && known.version < version)
    if (isNewest && isNewer) context.cache.heads.set(key, { id, version, bytes }, 1)
    // What another process wrote since may be known already, and this is not what it wrote.
    else if (!isNewest) context.cache.heads.delete(key)
  },
  claimEpoch: (context, [tenant, session], { epoch }) => changed(context, tenant, session, entriesOf([epoch])),
  fork: (context, [tenant, , to]) => changed(context, tenant, to, entriesOf([])),
  remove: ({ cache }) => cache.clear(),
  prune: ({ cache }) => cache.clear(),
  lease: () => undefined,
  releaseLease: () => undefined,
  setValue: ({ cache }, [tenant, key]) => void cache.values.delete(jointKey(tenant, key)),
}

/** `isNewest`: nobody else has committed between this commit and what is held here. */
export function learn<K extends JobName>(
  context: Context,
  job: K,
  args: ArgsOf<K>,
  result: ResultOf<K>,
  isNewest: boolean,
): void {
  const lesson: (context: Context, args: ArgsOf<K>, result: ResultOf<K>, isNewest: boolean) => void = lessons[job]
  lesson(context, args, result, isNewest)
}

function changed(context: Context, tenant: string, session: string, entries: Entries): void {
  const { cache } = context
  const number = cache.tenants.get(tenant)
  // Keys are held by a tenant's number; where that is not known, what is held of the tenant cannot be told from the rest.
  if (number === undefined) return cache.clear()
  cache.heads.delete(headKey(number, session))
  noteKeys(context, tenant, number, entries)
}

function noteKeys({ cache, seal }: Context, tenant: string, number: number, entries: Entries): void {
  for (const key of keysIn(entries)) {
    if (key.index === 'epoch') cache.covers.add(number, seal.blind(tenant, key.cover))
    if (key.index === 'edit') cache.editKeys.add(number, seal.blind(tenant, key.key))
  }
}
