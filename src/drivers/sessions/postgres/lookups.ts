import { randomUUID } from 'node:crypto'
import type { Epoch, FirstSendEdit } from '../../../core/records.ts'
import type { FoundEpoch } from '../../../ports/session-store.ts'
import type { Queries } from '../../postgres/connection.ts'
import { firstHolders, foundEpochs, uncached, type EpochRow } from '../epoch-rows.ts'
import { int, text, type Row } from '../rows.ts'
import { appendBatch } from './append.ts'
import { ensureTenant, recordOf, tenantId, type Context } from './context.ts'

/** One indexed query; bodies come from the cache, or from a second query by row id. */
export async function findEpochs(
  queries: Queries,
  context: Context,
  tenantName: string,
  chainHashes: readonly string[],
): Promise<FoundEpoch[]> {
  const tenant = await tenantId(queries, context, tenantName)
  if (tenant === undefined || chainHashes.length === 0) return []
  const covers = [...new Set(chainHashes)].map((hash) => context.seal.blind(tenantName, hash))
  const rows = await queries.query(
    `SELECT e.record, e.cover, e.epoch, s.name AS session, r.version,
       ARRAY(SELECT us.name FROM undos u JOIN sessions us ON us.id = u.session
             WHERE u.tenant = e.tenant AND u.epoch = e.epoch) AS undone
     FROM epochs e JOIN sessions s ON s.id = e.session JOIN records r ON r.id = e.record
     WHERE e.tenant = $1 AND e.cover = ANY($2::text[]) ORDER BY e.record`,
    [tenant, covers],
  )
  const places = new Map(covers.map((cover, i) => [cover, i]))
  const place = (row: Row): number => places.get(text(row, 'cover')) ?? 0
  const ordered = [...rows].sort((a, b) => place(a) - place(b) || int(a, 'record') - int(b, 'record'))
  const found = ordered.map((row) => ({ row, undone: row['undone'] as string[] }))
  return load(queries, context, tenantName, firstHolders(found))
}

async function load(
  queries: Queries,
  context: Context,
  tenant: string,
  rows: readonly EpochRow[],
): Promise<FoundEpoch[]> {
  const missing = uncached(context.epochs, rows)
  const loaded = new Map<number, Epoch>()
  const bodies =
    missing.size === 0
      ? []
      : await queries.query('SELECT id, body, sum FROM records WHERE id = ANY($1::bigint[])', [[...missing.keys()]])
  for (const row of bodies) {
    const id = int(row, 'id')
    const record = recordOf(context, tenant, row, missing.get(id)!)
    if (record?.type !== 'epoch') continue
    loaded.set(id, record)
    context.epochs.set(id, record, text(row, 'body').length)
  }
  return foundEpochs(context.epochs, rows, loaded)
}

/** Runs inside a transaction. The lock on (tenant, cover) keeps everybody else from looking before this one is done. */
export async function claimEpoch(
  queries: Queries,
  context: Context,
  tenantName: string,
  session: string,
  epoch: Epoch,
): Promise<FoundEpoch> {
  const tenant = await ensureTenant(queries, context, tenantName)
  const cover = context.seal.blind(tenantName, epoch.cover)
  const id = context.seal.blind(tenantName, epoch.id)
  await queries.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`plimsoll claim ${tenant} ${cover}`])
  const [winner] = await queries.query(
    // What came after the one that is gone beyond; a copy of it in a later session is no newer.
    `SELECT epoch FROM epochs e WHERE tenant = $1 AND cover = $2 AND (epoch = $3 OR NOT EXISTS
       (SELECT 1 FROM undos u WHERE u.tenant = e.tenant AND u.epoch = e.epoch AND u.session = e.session))
       AND (SELECT MIN(record) FROM epochs f WHERE f.tenant = $1 AND f.cover = $2 AND f.epoch = e.epoch) >
         COALESCE((SELECT MIN(record) FROM epochs f WHERE f.tenant = $1 AND f.cover = $2 AND f.epoch = $4), -1)
     ORDER BY epoch = $3, record LIMIT 1`,
    [tenant, cover, id, context.seal.blind(tenantName, epoch.replaces ?? '')],
  )
  const write = async (winning: Epoch): Promise<void> => {
    await appendBatch(queries, context, { tenantName, tenant, session }, [winning], { batch: randomUUID() })
  }
  const found =
    winner === undefined
      ? undefined
      : (await findEpochs(queries, context, tenantName, [epoch.cover])).find(
          (candidate) => context.seal.blind(tenantName, candidate.epoch.id) === text(winner, 'epoch'),
        )
  // Nobody was first, or the winner's record is damaged: a session must not be stuck behind bytes that nobody can read.
  if (winner === undefined || found === undefined) {
    await write(epoch)
    return { session, epoch, undoneIn: [] }
  }
  const holds = await queries.query(
    `SELECT 1 FROM epochs e JOIN sessions s ON s.id = e.session
     WHERE e.tenant = $1 AND e.cover = $2 AND e.epoch = $3 AND s.name = $4 LIMIT 1`,
    [tenant, cover, text(winner, 'epoch'), session],
  )
  if (holds.length === 0) await write(found.epoch)
  return found
}

export async function findEdits(
  queries: Queries,
  context: Context,
  tenantName: string,
  keys: readonly string[],
): Promise<FirstSendEdit[]> {
  const tenant = await tenantId(queries, context, tenantName)
  if (tenant === undefined || keys.length === 0) return []
  const blind = [...new Set(keys)].map((key) => context.seal.blind(tenantName, key))
  const rows = await queries.query(
    `SELECT f.key, r.version, r.body, r.sum, s.name AS session FROM edit_firsts f
     JOIN records r ON r.id = f.record JOIN sessions s ON s.id = f.session WHERE f.tenant = $1 AND f.key = ANY($2::text[])`,
    [tenant, blind],
  )
  const found = new Map<string, FirstSendEdit>()
  for (const row of rows) {
    const record = recordOf(context, tenantName, row, { session: text(row, 'session'), version: int(row, 'version') })
    if (record?.type === 'edit') found.set(text(row, 'key'), record)
  }
  return blind.flatMap((key) => found.get(key) ?? [])
}

export async function seen(
  queries: Queries,
  context: Context,
  tenantName: string,
  identities: readonly string[],
  session: string | undefined,
): Promise<ReadonlySet<string>> {
  const tenant = await tenantId(queries, context, tenantName)
  if (tenant === undefined || identities.length === 0) return new Set()
  const blind = identities.map((identity) => context.seal.blind(tenantName, identity))
  const rows = await queries.query(
    `SELECT DISTINCT i.identity FROM items i WHERE i.tenant = $1 AND i.identity = ANY($2::text[])
       AND ($3::text IS NULL OR i.session = (SELECT id FROM sessions WHERE tenant = $1 AND name = $3))`,
    [tenant, blind, session ?? null],
  )
  const held = new Set(rows.map((row) => text(row, 'identity')))
  return new Set(identities.filter((_, i) => held.has(blind[i] ?? '')))
}
