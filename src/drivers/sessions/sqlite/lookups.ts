import type { Epoch, FirstSendEdit } from '../../../core/records.ts'
import type { FoundEpoch } from '../../../ports/session-store.ts'
import type { Stored } from '../../crypto/seal.ts'
import { firstHolders, foundEpochs, uncached, type EpochRow, int, text } from '../rows.ts'
import { ensureTenant, recordOf, tenantId, type Context, append, entryOf, headOf, RECORD } from './log.ts'
import { type SqliteDatabase, asBytes } from './database.ts'

/** One indexed query; bodies come from the cache, or from a second query by row id. */
export function findEpochs(
  db: SqliteDatabase,
  context: Context,
  tenant: string,
  chainHashes: readonly string[],
): FoundEpoch[] {
  const covers = [...new Set(chainHashes)].map((hash) => context.seal.blind(tenant, hash))
  const rows = db.all(
    `SELECT e.record, ${asBytes('e.epoch')} AS epoch, ${asBytes('s.name')} AS session, r.version,
       CAST((SELECT json_group_array(us.name) FROM undos u JOIN sessions us ON us.id = u.session
             WHERE u.tenant = e.tenant AND u.epoch = e.epoch) AS BLOB) AS undone
     FROM json_each(?) h CROSS JOIN epochs e ON e.tenant = ? AND e.cover = h.value
     JOIN sessions s ON s.id = e.session JOIN records r ON r.id = e.record
     ORDER BY h.key, e.record`,
    JSON.stringify(covers),
    tenantId(db, tenant),
  )
  const found = rows.map((row) => ({ row, undone: JSON.parse(text(row, 'undone')) as string[] }))
  return load(db, context, tenant, firstHolders(found))
}

function load(db: SqliteDatabase, context: Context, tenant: string, rows: readonly EpochRow[]): FoundEpoch[] {
  const loaded = new Map<number, Epoch>()
  for (const [id, { session }] of uncached(context.epochs, rows)) {
    const row = db.all(`SELECT ${RECORD} FROM records r WHERE id = ?`, id)[0]
    const record = row === undefined ? undefined : recordOf(context, tenant, row, session)
    if (record?.type !== 'epoch') continue
    loaded.set(id, record)
    context.epochs.set(id, record, (row!['body'] as Stored).length)
  }
  return foundEpochs(context.epochs, rows, loaded)
}

/** Runs inside a write transaction, so no other process can be between the look and the append. */
export function claimEpoch(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  session: string,
  epoch: Epoch,
): FoundEpoch {
  const tenant = ensureTenant(db, tenantName)
  const { seal, clock } = context
  const [cover, id, replaces] = [epoch.cover, epoch.id, epoch.replaces ?? ''].map((key) => seal.blind(tenantName, key))
  const adopt = (one: Epoch): number =>
    append(db, context, tenantName, session, [entryOf(context, tenantName, one)], { now: clock.now() })
  const winner = text(
    db.all(
      // What came after the one that is gone beyond; a copy of it in a later session is no newer.
      `SELECT ${asBytes('epoch')} AS epoch FROM epochs e WHERE tenant = ? AND cover = ? AND (epoch = ? OR NOT EXISTS
         (SELECT 1 FROM undos u WHERE u.tenant = e.tenant AND u.epoch = e.epoch AND u.session = e.session))
         AND (SELECT MIN(record) FROM epochs f WHERE f.tenant = e.tenant AND f.cover = e.cover AND f.epoch = e.epoch) >
           COALESCE((SELECT MIN(record) FROM epochs f WHERE f.tenant = e.tenant AND f.cover = e.cover AND f.epoch = ?), -1)
       ORDER BY e.epoch = ?, record LIMIT 1`,
      tenant,
      cover!,
      id!,
      replaces!,
      id!,
    )[0],
    'epoch',
  )
  const found = findEpochs(db, context, tenantName, [epoch.cover]).find(
    (candidate) => seal.blind(tenantName, candidate.epoch.id) === winner,
  )
  // Where the winner's record is damaged the claim goes through too, so that the session is not stuck behind bytes that cannot be read.
  if (found === undefined) {
    adopt(epoch)
    return { session, epoch, undoneIn: [] }
  }
  const holds = db.all(
    `SELECT 1 FROM epochs e JOIN sessions s ON s.id = e.session
     WHERE e.tenant = ? AND e.cover = ? AND e.epoch = ? AND s.name = ? LIMIT 1`,
    tenant,
    cover!,
    winner,
    session,
  )
  if (holds.length === 0) adopt(found.epoch)
  return found
}

export function findEdits(
  db: SqliteDatabase,
  context: Context,
  tenant: string,
  keys: readonly string[],
): FirstSendEdit[] {
  const blind = [...new Set(keys)].map((key) => context.seal.blind(tenant, key))
  const rows = db.all(
    `SELECT ${asBytes('e.key')} AS key, ${RECORD}, ${asBytes('s.name')} AS session FROM json_each(?) k
     CROSS JOIN edits e ON e.tenant = ? AND e.key = k.value
     JOIN records r ON r.id = e.record JOIN sessions s ON s.id = e.session ORDER BY k.key, e.record`,
    JSON.stringify(blind),
    tenantId(db, tenant),
  )
  const first = new Map<string, FirstSendEdit>()
  for (const row of rows) {
    if (first.has(text(row, 'key'))) continue
    const record = recordOf(context, tenant, row, text(row, 'session'))
    if (record?.type === 'edit') first.set(text(row, 'key'), record)
  }
  return [...first.values()]
}

export function seen(
  db: SqliteDatabase,
  { seal }: Context,
  tenantName: string,
  identities: readonly string[],
  session: string | undefined,
): ReadonlySet<string> {
  const blind = identities.map((identity) => seal.blind(tenantName, identity))
  const tenant = tenantId(db, tenantName)
  const within = session === undefined ? null : headOf(db, tenant, session).id
  const rows = db.all(
    `SELECT k.key AS position FROM json_each(?) k WHERE EXISTS
       (SELECT 1 FROM items i WHERE i.tenant = ? AND i.identity = k.value AND (? IS NULL OR i.session = ?))`,
    JSON.stringify(blind),
    tenant,
    within,
    within,
  )
  return new Set(rows.map((row) => identities[int(row, 'position')] ?? ''))
}
