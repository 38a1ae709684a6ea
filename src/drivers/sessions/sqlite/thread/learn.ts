import type { Context } from '../context.ts'
import { countOf, entriesOf, entryAt, type Entries } from '../entries.ts'
import { rememberValue, type ArgsOf, type JobName, type ResultOf } from '../jobs.ts'
import { headKey } from '../log.ts'
import type { SessionHead } from '../read-cache.ts'

type Learn = { [K in JobName]: (context: Context, args: ArgsOf<K>, result: ResultOf<K>) => void }

/** What this process has read ahead, brought up to what its thread has committed. */
const lessons: Learn = {
  append: (context, [tenant, session, entries], head) => appended(context, tenant, session, entries, head),
  claimEpoch: (context, [tenant, session], { epoch }) => appended(context, tenant, session, entriesOf([epoch])),
  fork: (context, [tenant, , to]) => appended(context, tenant, to, []),
  remove: ({ cache }) => cache.clear(),
  prune: ({ cache }) => cache.clear(),
  lease: () => undefined,
  releaseLease: () => undefined,
  setValue: (context, [tenant, key], value) => rememberValue(context, tenant, key, value),
}

export function learn<K extends JobName>(context: Context, job: K, args: ArgsOf<K>, result: ResultOf<K>): void {
  const lesson: (context: Context, args: ArgsOf<K>, result: ResultOf<K>) => void = lessons[job]
  lesson(context, args, result)
}

function appended(
  { cache, seal }: Context,
  tenant: string,
  session: string,
  entries: Entries,
  head?: SessionHead,
): void {
  const id = cache.tenants.get(tenant)
  // Keys are held by a tenant's number; where that is not known, what is held of the tenant cannot be told from the rest.
  if (id === undefined) return cache.clear()
  const key = headKey(id, session)
  const known = cache.heads.peek(key)
  // A newer one may have been read already.
  if (head === undefined) cache.heads.delete(key)
  else if (known === undefined || known.id !== head.id || known.version < head.version) cache.heads.set(key, head, 1)
  for (let i = 0; i < countOf(entries); i++) {
    const { key: held } = entryAt(entries, i)
    if (held?.index === 'epoch') cache.covers.add(id, seal.blind(tenant, held.cover))
    if (held?.index === 'edit') cache.editKeys.add(id, seal.blind(tenant, held.key))
  }
}
