import type { LogRecord } from '../../../../core/records.ts'
import { keyOf } from '../../record-keys.ts'
import type { Context } from '../context.ts'
import { rememberValue, type ArgsOf, type JobName, type ResultOf } from '../jobs.ts'
import { headKey } from '../log.ts'

type Learn = { [K in JobName]: (context: Context, args: ArgsOf<K>, result: ResultOf<K>) => void }

/**
 * What this process has read ahead, brought up to what its thread has just committed. Of a session's head only that it has changed: this
 * process may have read a newer one already.
 */
const lessons: Learn = {
  append: (context, [tenant, session, records]) => appended(context, tenant, session, records),
  claimEpoch: (context, [tenant, session], { epoch }) => appended(context, tenant, session, [epoch]),
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

function appended({ cache, seal }: Context, tenant: string, session: string, records: readonly LogRecord[]): void {
  const id = cache.tenants.get(tenant)
  // Keys are held by a tenant's number; where that is not known, what is held of the tenant cannot be told from the rest.
  if (id === undefined) return cache.clear()
  cache.heads.delete(headKey(id, session))
  for (const record of records) {
    const key = keyOf(record)
    if (key?.index === 'epoch') cache.covers.add(id, seal.blind(tenant, key.cover))
    if (key?.index === 'edit') cache.editKeys.add(id, seal.blind(tenant, key.key))
  }
}
