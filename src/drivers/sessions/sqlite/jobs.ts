import type { Epoch } from '../../../core/records.ts'
import { jointKey } from '../../../util/joint-key.ts'
import type { FoundEpoch } from '../../../ports/session-store.ts'
import type { Stored } from '../../crypto/seal.ts'
import { int, text } from '../rows.ts'
import { ensureTenant, tenantId, type Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'
import type { Entries } from './entries.ts'
import { append, fork, headOf, remove, type Appended } from './log.ts'
import { claimEpoch } from './lookups.ts'

interface JobTypes {
  append: {
    args: [
      tenant: string,
      session: string,
      entries: Entries,
      expectedVersion: number | undefined,
      at: number | undefined,
    ]
    result: Appended
  }
  claimEpoch: { args: [tenant: string, session: string, epoch: Epoch]; result: FoundEpoch }
  fork: { args: [tenant: string, from: string, to: string, version: number | undefined]; result: number }
  remove: { args: [tenant: string, session: string]; result: boolean }
  prune: { args: [tenant: string, before: number]; result: readonly string[] }
  lease: { args: [tenant: string, work: string, holder: string, ttlMs: number]; result: boolean }
  releaseLease: { args: [tenant: string, work: string, holder: string]; result: void }
  setValue: {
    args: [tenant: string, key: string, value: string, ifAbsent: boolean, session: string | null]
    result: string
  }
}

export type JobName = keyof JobTypes
export type ArgsOf<K extends JobName> = JobTypes[K]['args']
export type ResultOf<K extends JobName> = JobTypes[K]['result']
type Jobs = { [K in JobName]: (db: SqliteDatabase, context: Context, ...args: ArgsOf<K>) => ResultOf<K> }

/**
 * Everything that changes the database, by name: each runs inside a transaction, and takes and gives plain data, so that it can be asked
 * for from another thread.
 */
export const jobs: Jobs = {
  append,
  claimEpoch,
  fork,

  remove(db, context, tenant, session) {
    const { id } = headOf(db, context, tenantId(db, context, tenant), session)
    if (id !== 0) remove(db, context, id)
    return id !== 0
  },

  prune(db, context, tenant, before) {
    const rows = db.all(
      'SELECT id, name FROM sessions WHERE tenant = ? AND updated_at < ? ORDER BY name',
      tenantId(db, context, tenant) ?? 0,
      before,
    )
    for (const row of rows) remove(db, context, int(row, 'id'))
    return rows.map((row) => text(row, 'name'))
  },

  lease(db, context, tenant, work, holder, ttlMs) {
    const now = context.clock.now()
    const taken = db.run(
      `INSERT INTO leases (tenant, work, holder, until) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, work)
       DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE holder = excluded.holder OR until <= ?`,
      ensureTenant(db, context, tenant),
      work,
      holder,
      now + ttlMs,
      now,
    )
    return taken > 0
  },

  releaseLease(db, context, tenant, work, holder) {
    db.run(
      'DELETE FROM leases WHERE tenant = ? AND work = ? AND holder = ?',
      tenantId(db, context, tenant) ?? 0,
      work,
      holder,
    )
  },

  setValue(db, context, tenant, key, value, ifAbsent, session) {
    const existing = ifAbsent ? valueOf(db, context, tenant, key) : undefined
    if (existing !== undefined) return existing
    db.run(
      'INSERT INTO vals (tenant, key, value, session) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, session = excluded.session',
      ensureTenant(db, context, tenant),
      key,
      context.seal.seal(tenant, value),
      session,
    )
    rememberValue(context, tenant, key, value)
    return value
  },
}

export function valueOf(db: SqliteDatabase, context: Context, tenant: string, key: string): string | undefined {
  context.cache.refresh(db)
  const known = context.cache.values.get(jointKey(tenant, key))
  if (known !== undefined) return known.value
  const row = db.all('SELECT value FROM vals WHERE tenant = ? AND key = ?', tenantId(db, context, tenant) ?? 0, key)[0]
  const value = row === undefined ? undefined : context.seal.open(tenant, row['value'] as Stored)
  rememberValue(context, tenant, key, value)
  return value
}

/** What an entry takes beside its value, roughly. */
const ENTRY_BYTES = 200

function rememberValue({ cache }: Context, tenant: string, key: string, value: string | undefined): void {
  cache.values.set(jointKey(tenant, key), { value }, ENTRY_BYTES + (value?.length ?? 0))
}
