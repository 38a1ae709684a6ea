import type { LogRecord } from '../../../core/records.ts'
import type { Queries } from '../../postgres/connection.ts'
import { wordKey } from '../read-record.ts'
import { keyOf } from '../record-keys.ts'
import { toStored } from '../record-text.ts'
import { wordsOf } from '../../../core/search-words.ts'
import { SERVER_NOW, toColumn, type Context } from './context.ts'

// Postgres holds at most a megabyte in one text-search vector; this many words of the longest kind stay far below it.
const WORDS_PER_ROW = 2000

const NEW_HEAD = `
  INSERT INTO sessions AS s (tenant, name, version, bytes, created_at, updated_at)
  SELECT $1::int, $2::text, $3::bigint, $4::bigint, now.ms, now.ms FROM now
  ON CONFLICT (tenant, name) DO UPDATE SET version = s.version + $3, bytes = s.bytes + $4, updated_at = excluded.updated_at
  WHERE $6::bigint IS NULL OR s.version = $6
  RETURNING id, version`

const KNOWN_HEAD = `
  UPDATE sessions SET version = version + $3::bigint, bytes = bytes + $4::bigint, updated_at = now.ms FROM now
  WHERE tenant = $1::int AND name = $2::text AND version = $6::bigint
  RETURNING id, version`

/*
 * The whole batch in one statement: one round trip, one atomic commit. The head's row lock orders the writers of a session;
 * when the head does not move, nothing below it has a row to work on. Edits are inserted in key order, so two batches with
 * the same keys wait for each other instead of deadlocking.
 */
const statement = (head: string): string => `
WITH now AS (SELECT COALESCE($5::bigint, ${SERVER_NOW}) AS ms),
head AS (${head}),
added AS (
  INSERT INTO records (session, version, body, sum, batch)
  SELECT head.id, head.version - $3 + r.n, r.body, r.sum, CASE WHEN r.n = 1 THEN $9::uuid END
  FROM head, unnest($7::text[], $8::text[]) WITH ORDINALITY AS r(body, sum, n)
  RETURNING id, session, version
),
placed AS (SELECT added.id, added.session, added.version - (head.version - $3) AS n FROM added, head),
epochs_in AS (
  INSERT INTO epochs (tenant, cover, record, epoch, session)
  SELECT $1, k.cover, placed.id, k.epoch, placed.session
  FROM unnest($10::int[], $11::text[], $12::text[]) AS k(n, cover, epoch) JOIN placed USING (n)
),
undos_in AS (
  INSERT INTO undos (tenant, epoch, session, record)
  SELECT $1, k.epoch, placed.session, placed.id FROM unnest($13::int[], $14::text[]) AS k(n, epoch) JOIN placed USING (n)
),
edits_new AS (
  SELECT k.key, placed.id, placed.session FROM unnest($15::int[], $16::text[]) AS k(n, key) JOIN placed USING (n)
),
edits_in AS (INSERT INTO edits (tenant, key, record, session) SELECT $1, key, id, session FROM edits_new),
firsts_in AS (
  INSERT INTO edit_firsts (tenant, key, record, session)
  SELECT DISTINCT ON (key) $1::int, key, id, session FROM edits_new ORDER BY key, id ON CONFLICT DO NOTHING
),
items_in AS (
  INSERT INTO items (tenant, identity, session, record)
  SELECT $1, k.identity, placed.session, placed.id FROM unnest($17::int[], $18::text[]) AS k(n, identity) JOIN placed USING (n)
),
words_in AS (
  INSERT INTO words (session, record, words)
  SELECT placed.session, placed.id, array_to_tsvector(string_to_array(k.words, ' '))
  FROM unnest($19::int[], $20::text[]) AS k(n, words) JOIN placed USING (n)
)
SELECT version FROM head`

const APPEND = statement(NEW_HEAD)
const APPEND_ON = statement(KNOWN_HEAD)

/** Resolves with the new version, or undefined when the session is not at `expectedVersion`. */
export async function appendBatch(
  queries: Queries,
  context: Context,
  place: { readonly tenantName: string; readonly tenant: number; readonly session: string },
  records: readonly LogRecord[],
  options: { readonly batch: string; readonly expectedVersion?: number | undefined; readonly at?: number | undefined },
): Promise<number | undefined> {
  const { tenantName, tenant, session } = place
  const { batch, expectedVersion, at } = options
  const stored = records.map((record) => toStored(context.seal, tenantName, record))
  const keys = keysOf(context, tenantName, tenant, records)
  const onKnown = expectedVersion !== undefined && expectedVersion > 0
  const [row] = await queries.query(onKnown ? APPEND_ON : APPEND, [
    tenant,
    session,
    records.length,
    stored.reduce((sum, { bytes }) => sum + bytes, 0),
    at ?? context.clock?.now() ?? null,
    expectedVersion ?? null,
    stored.map(({ body }) => toColumn(body)),
    stored.map(({ sum }) => sum),
    batch,
    ...columns(keys.epochs, 3),
    ...columns(keys.undos, 2),
    ...columns(keys.edits, 2),
    ...columns(keys.items, 2),
    ...columns(keys.words, 2),
  ])
  return row === undefined ? undefined : Number(row['version'])
}

type KeyRow = readonly (string | number)[]

/** Lookup rows, each with the place of its record in the batch. */
function keysOf(context: Context, tenantName: string, tenant: number, records: readonly LogRecord[]) {
  const epochs: KeyRow[] = []
  const undos: KeyRow[] = []
  const edits: KeyRow[] = []
  const items: KeyRow[] = []
  const words: KeyRow[] = []
  const blind = (key: string): string => context.seal.blind(tenantName, key)
  records.forEach((record, i) => {
    const n = i + 1
    const key = keyOf(record)
    if (key?.index === 'epoch') epochs.push([n, blind(key.cover), blind(key.id)])
    else if (key?.index === 'undo') undos.push([n, blind(key.id)])
    else if (key?.index === 'edit') edits.push([n, blind(key.key)])
    else if (key?.index === 'item') {
      items.push([n, blind(key.identity)])
      for (const chunk of wordRows(context, tenantName, tenant, key.text)) words.push([n, chunk])
    }
  })
  return { epochs, undos, edits, items, words }
}

function wordRows(context: Context, tenantName: string, tenant: number, text: string): string[] {
  const words = wordsOf(text).map((word) => wordKey(context, tenantName, tenant, word))
  return Array.from({ length: Math.ceil(words.length / WORDS_PER_ROW) }, (_, i) =>
    words.slice(i * WORDS_PER_ROW, (i + 1) * WORDS_PER_ROW).join(' '),
  )
}

/** Rows as one array per column, for unnest. */
const columns = (rows: readonly KeyRow[], count: number): unknown[][] =>
  Array.from({ length: count }, (_, column) => rows.map((row) => row[column]))
