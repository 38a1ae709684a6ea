import type { Epoch, FirstSendEdit } from '../../../core/records.ts'
import type { FoundEpoch } from '../../../ports/session-store.ts'
import type { Stored } from '../../crypto/seal.ts'
import { firstHolders, foundEpochs, uncached, type EpochRow } from '../epoch-rows.ts'
import { int, text } from '../rows.ts'
import { ensureTenant, jsonList, recordOf, tenantId, type Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'
import { entriesOf } from './entries.ts'
import { append } from './log.ts'

/** One indexed query, where there is something to find; bodies come from the cache, or from a second query by row id. */
export function findEpochs(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  chainHashes: readonly string[],
): FoundEpoch[] {
  const tenant = tenantId(db, context, tenantName)
  if (tenant === undefined || chainHashes.length === 0) return []
  context.cache.refresh(db)
  const asked = [...new Set(chainHashes)].map((hash) => context.seal.blind(tenantName, hash))
  const covers = context.cache.covers.among(db, tenant, asked)
  if (covers.length === 0) return []
  const rows = db.all(
    `SELECT e.record, e.epoch, s.name AS session, r.version,
       (SELECT json_group_array(us.name) FROM undos u JOIN sessions us ON us.id = u.session
        WHERE u.tenant = e.tenant AND u.epoch = e.epoch) AS undone
     FROM json_each(?) h CROSS JOIN epochs e ON e.tenant = ? AND e.cover = h.value
     JOIN sessions s ON s.id = e.session JOIN records r ON r.id = e.record
     ORDER BY h.key, e.record`,
    jsonList(covers),
    tenant,
  )
  const found = rows.map((row) => ({ row, undone: JSON.parse(text(row, 'undone')) as string[] }))
  return load(db, context, tenantName, firstHolders(found))
}

function load(db: SqliteDatabase, context: Context, tenant: string, rows: readonly EpochRow[]): FoundEpoch[] {
  const missing = uncached(context.epochs, rows)
  const loaded = new Map<number, Epoch>()
  const bodies =
    missing.size === 0
      ? []
      : db.all(
          'SELECT id, body, sum FROM records WHERE id IN (SELECT value FROM json_each(?))',
          jsonList([...missing.keys()]),
        )
  for (const row of bodies) {
    const id = int(row, 'id')
    const record = recordOf(context, tenant, row, missing.get(id)!)
    if (record?.type !== 'epoch') continue
    loaded.set(id, record)
    context.epochs.set(id, record, (row['body'] as Stored).length)
  }
  return foundEpochs(context.epochs, rows, loaded)
}

/** Runs inside a write transaction, so nobody else can be between the look and the append. */
export function claimEpoch(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  session: string,
  epoch: Epoch,
): FoundEpoch {
  const tenant = ensureTenant(db, context, tenantName)
  const cover = context.seal.blind(tenantName, epoch.cover)
  const id = context.seal.blind(tenantName, epoch.id)
  const replaces = context.seal.blind(tenantName, epoch.replaces ?? '')
  const winner = db.all(
    // What came after the one that is gone beyond; a copy of it in a later session is no newer.
    `SELECT epoch FROM epochs e WHERE tenant = ? AND cover = ? AND (epoch = ? OR NOT EXISTS
       (SELECT 1 FROM undos u WHERE u.tenant = e.tenant AND u.epoch = e.epoch AND u.session = e.session))
       AND (SELECT MIN(record) FROM epochs f WHERE f.tenant = e.tenant AND f.cover = e.cover AND f.epoch = e.epoch) >
         COALESCE((SELECT MIN(record) FROM epochs f WHERE f.tenant = e.tenant AND f.cover = e.cover AND f.epoch = ?), -1)
     ORDER BY epoch = ?, record LIMIT 1`,
    tenant,
    cover,
    id,
    replaces,
    id,
  )[0]
  if (winner === undefined) {
    append(db, context, tenantName, session, entriesOf([epoch]))
    return { session, epoch, undoneIn: [] }
  }
  const found = findEpochs(db, context, tenantName, [epoch.cover]).find(
    (candidate) => context.seal.blind(tenantName, candidate.epoch.id) === text(winner, 'epoch'),
  )
  // The winner's record is damaged: the claim goes through, so that the session is not stuck behind bytes nobody can read.
  if (found === undefined) {
    append(db, context, tenantName, session, entriesOf([epoch]))
    return { session, epoch, undoneIn: [] }
  }
  const holds = db.all(
    `SELECT 1 FROM epochs e JOIN sessions s ON s.id = e.session
     WHERE e.tenant = ? AND e.cover = ? AND e.epoch = ? AND s.name = ? LIMIT 1`,
    tenant,
    cover,
    text(winner, 'epoch'),
    session,
  )
  if (holds.length === 0) append(db, context, tenantName, session, entriesOf([found.epoch]))
  return found
}

export function findEdits(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  keys: readonly string[],
): FirstSendEdit[] {
  const tenant = tenantId(db, context, tenantName)
  if (tenant === undefined || keys.length === 0) return []
  context.cache.refresh(db)
  const asked = [...new Set(keys)].map((key) => context.seal.blind(tenantName, key))
  const blind = context.cache.editKeys.among(db, tenant, asked)
  if (blind.length === 0) return []
  const rows = db.all(
    `SELECT e.key, r.version, r.body, r.sum, s.name AS session FROM json_each(?) k
     CROSS JOIN edits e ON e.tenant = ? AND e.key = k.value
     JOIN records r ON r.id = e.record JOIN sessions s ON s.id = e.session ORDER BY k.key, e.record`,
    jsonList(blind),
    tenant,
  )
  const first = new Map<string, FirstSendEdit>()
  for (const row of rows) {
    if (first.has(text(row, 'key'))) continue
    const record = recordOf(context, tenantName, row, { session: text(row, 'session'), version: int(row, 'version') })
    if (record?.type === 'edit') first.set(text(row, 'key'), record)
  }
  return [...first.values()]
}

export function seen(
  db: SqliteDatabase,
  context: Context,
  tenantName: string,
  identities: readonly string[],
  session: string | undefined,
): ReadonlySet<string> {
  const tenant = tenantId(db, context, tenantName)
  if (tenant === undefined || identities.length === 0) return new Set()
  const blind = identities.map((identity) => context.seal.blind(tenantName, identity))
  const rows = db.all(
    `SELECT k.key AS position FROM json_each(?) k WHERE EXISTS (SELECT 1 FROM items i WHERE i.tenant = ? AND i.identity = k.value
       AND (? IS NULL OR i.session = (SELECT id FROM sessions WHERE tenant = ? AND name = ?)))`,
    jsonList(blind),
    tenant,
    session ?? null,
    tenant,
    session ?? null,
  )
  return new Set(rows.map((row) => identities[int(row, 'position')] ?? ''))
}
