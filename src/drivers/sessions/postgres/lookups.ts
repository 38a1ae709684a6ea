import { randomUUID } from 'node:crypto'
import type { Epoch, FirstSendEdit } from '../../../core/records.ts'
import type { FoundEpoch, SearchHit } from '../../../ports/session-store.ts'
import type { Queries } from '../../postgres/connection.ts'
import {
  firstHolders,
  foundEpochs,
  uncached,
  type EpochRow,
  int,
  text,
  type Row,
  type CheckedHead,
  HOMELESS,
  homelessProblem,
  logCheck,
  LOOKUPS,
  orphanProblem,
  orphansIn,
  sessionHeads,
} from '../rows.ts'
import { appendBatch, ensureTenant, recordOf, tenantId, type Context, bytesOf, fromColumn } from './log.ts'
import { queryWords } from '../../../core/search-words.ts'
import { fromStored, wordKey } from '../records.ts'
import { type Candidate, rankCandidates } from '../search-words.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'

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

// Newest records looked at per word once no record holds all words; enough for a rare word to be found among common ones.
const PER_WORD = 50

/** Records with every word first; when they are too few, the newest with any of them. */
export async function search(
  queries: Queries,
  context: Context,
  tenantName: string,
  query: string,
  session: string | undefined,
  limit: number,
): Promise<SearchHit[]> {
  const tenant = await tenantId(queries, context, tenantName)
  const asked = queryWords(query)
  if (tenant === undefined || asked.length === 0) return []
  const words = asked.map((word) => `'${wordKey(context, tenantName, tenant, word)}'`)
  const candidates = new Map<number, Candidate>()

  const look = async (match: readonly string[], count: number): Promise<void> => {
    const rows = await queries.query(
      `SELECT r.id, r.version, r.body, r.sum, s.name AS session
       FROM unnest($1::text[]) AS q(word) CROSS JOIN LATERAL (
         SELECT DISTINCT w.record, w.session FROM words w
         WHERE w.words @@ q.word::tsquery AND ($2::text IS NULL OR w.session = (SELECT id FROM sessions WHERE tenant = $3 AND name = $2))
         ORDER BY w.record DESC LIMIT $4) hit
       JOIN records r ON r.id = hit.record JOIN sessions s ON s.id = hit.session`,
      [match, session ?? null, tenant, count],
    )
    for (const row of rows) {
      const id = int(row, 'id')
      if (candidates.has(id)) continue
      const place = { session: text(row, 'session'), version: int(row, 'version') }
      const record = recordOf(context, tenantName, row, place)
      if (record?.type === 'item-seen') candidates.set(id, { ...place, at: record.at, text: record.text })
    }
  }

  await look([words.join(' & ')], limit)
  if (candidates.size < limit && words.length > 1) await look(words, PER_WORD)
  return rankCandidates([...candidates.values()], asked, limit)
}

const PAGE = 256
const DERIVED = ['epochs', 'undos', 'edits', 'edit_firsts', 'items', 'words']

/** Reads every record once and compares the lookups with the logs. Runs in one snapshot, so live writers do not disturb it. */
export async function check(queries: Queries, context: Context): Promise<StoreProblem[]> {
  const problems: StoreProblem[] = []
  for (const row of await queries.query(sessionHeads((column) => column))) {
    const log = await checkLog(queries, context, {
      id: int(row, 'id'),
      tenant: text(row, 'tenant'),
      name: text(row, 'name'),
      version: int(row, 'version'),
      bytes: int(row, 'bytes'),
    })
    problems.push(...log)
  }
  for (const table of DERIVED) {
    const rows = await queries.query(orphansIn(table))
    problems.push(...rows.map((row) => orphanProblem(table, int(row, 'record'))))
  }
  return [...problems, ...(await queries.query(HOMELESS)).map((row) => homelessProblem(int(row, 'id')))]
}

async function checkLog(queries: Queries, context: Context, head: CheckedHead): Promise<readonly StoreProblem[]> {
  const { seal } = context
  const log = logCheck(head)
  for (;;) {
    const rows = await queries.query(
      'SELECT id, version, body, sum FROM records WHERE session = $1 AND version >= $2 ORDER BY version LIMIT $3',
      [head.id, log.expected, PAGE],
    )
    const indexed = await lookupsOf(queries, rows)
    for (const row of rows) {
      const body = text(row, 'body')
      log.see(
        int(row, 'version'),
        bytesOf(context, body),
        () => fromStored(seal, head.tenant, fromColumn(seal, body), text(row, 'sum')),
        (index, key) => indexed.has(`${index} ${int(row, 'id')} ${seal.blind(head.tenant, key)}`),
      )
    }
    if (rows.length < PAGE) return log.end()
  }
}

/** What the lookups hold about a page of records: one query per table instead of one per record. */
async function lookupsOf(queries: Queries, rows: readonly Row[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const [index, { table, column }] of Object.entries(LOOKUPS)) {
    const entries = await queries.query(
      `SELECT i.record, i.${column} AS key FROM ${table} i JOIN records r ON r.id = i.record AND r.session = i.session
       WHERE i.session = (SELECT session FROM records WHERE id = $1) AND i.record BETWEEN $1 AND $2`,
      [rows[0]?.['id'] ?? 0, rows.at(-1)?.['id'] ?? 0],
    )
    for (const entry of entries) found.add(`${index} ${int(entry, 'record')} ${text(entry, 'key')}`)
  }
  return found
}
