import type { Epoch, FirstSendEdit } from '../../../core/records.ts'
import type { FoundEpoch, SearchHit, SearchOptions } from '../../../ports/session-store.ts'
import { byName } from '../checked-store.ts'
import { wordKey } from '../records.ts'
import { readQuery } from '../../../util/search/query.ts'
import { ENOUGH_RECORDS, PER_WORD, placesOf, rankRecords, type StoredItem } from '../search-words.ts'
import { append, ensureTenant, headOf, recordColumns, recordOf, TENANT, tenantId } from './log.ts'
import { ask, int, text, type Context, type Job, type Row } from './job.ts'

/** Each epoch is returned from its first session; forks and adopters contain the same one. */
export function* findEpochs(context: Context, tenant: string, hashes: readonly string[]): Job<FoundEpoch[]> {
  const { dialect, seal } = context
  const covers = [...new Set(hashes)].map((hash) => seal.blind(tenant, hash))
  const rows = yield* ask(
    `SELECT ${dialect.text('e.cover')} AS cover, ${dialect.text('e.epoch')} AS epoch, ${dialect.text('s.name')} AS session,
       ${recordColumns(context)} FROM epochs e JOIN sessions s ON s.id = e.session JOIN records r ON r.id = e.record
     WHERE e.tenant = ${TENANT} AND e.cover IN (${dialect.each}) ORDER BY e.record`,
    tenant,
    JSON.stringify(covers),
  )
  if (rows.length === 0) return []
  const order = new Map(covers.map((cover, i) => [cover, i]))
  const place = (row: Row): number => order.get(text(row, 'cover')) ?? 0
  const first = firstOf(
    rows.toSorted((a, b) => place(a) - place(b)),
    'epoch',
  )
  const undos = yield* ask(
    `SELECT ${dialect.text('u.epoch')} AS epoch, ${dialect.text('s.name')} AS session
     FROM undos u JOIN sessions s ON s.id = u.session WHERE u.tenant = ${TENANT} AND u.epoch IN (${dialect.each})`,
    tenant,
    JSON.stringify([...first.keys()]),
  )
  return [...first].flatMap(([id, row]) => {
    const session = text(row, 'session')
    const epoch = recordOf(context, tenant, row, session)
    if (epoch?.type !== 'epoch') return []
    const undone = undos.filter((undo) => text(undo, 'epoch') === id).map((undo) => text(undo, 'session'))
    return [{ session, epoch, undoneIn: [...new Set(undone)].sort(byName) }]
  })
}

function firstOf(rows: readonly Row[], column: string): ReadonlyMap<string, Row> {
  const first = new Map<string, Row>()
  for (const row of rows) if (!first.has(text(row, column))) first.set(text(row, column), row)
  return first
}

/** Runs inside a transaction. The lock on (tenant, cover) keeps other processes from looking before this one is done. */
export function* claimEpoch(context: Context, tenant: string, session: string, epoch: Epoch): Job<FoundEpoch> {
  const { dialect, seal } = context
  const blind = (key: string): string => seal.blind(tenant, key)
  const [cover, id] = [blind(epoch.cover), blind(epoch.id)]
  if (dialect.lock !== undefined) yield* dialect.lock(`plimsoll claim ${yield* ensureTenant(tenant)} ${cover}`)
  const [row] = yield* ask(
    // Only epochs after the replaced one compete; a copy of that one in a later session is not newer.
    `SELECT ${dialect.text('epoch')} AS winner FROM epochs e WHERE tenant = ${TENANT} AND cover = ? AND (epoch = ? OR NOT EXISTS
       (SELECT 1 FROM undos u WHERE u.tenant = e.tenant AND u.epoch = e.epoch AND u.session = e.session))
       AND (SELECT MIN(record) FROM epochs f WHERE f.tenant = e.tenant AND f.cover = e.cover AND f.epoch = e.epoch) >
         COALESCE((SELECT MIN(record) FROM epochs f WHERE f.tenant = e.tenant AND f.cover = e.cover AND f.epoch = ?), -1)
     ORDER BY e.epoch = ?, record LIMIT 1`,
    tenant,
    cover,
    id,
    blind(epoch.replaces ?? ''),
    id,
  )
  const winner = text(row, 'winner')
  const all = row === undefined ? [] : yield* findEpochs(context, tenant, [epoch.cover])
  const found = all.find((one) => blind(one.epoch.id) === winner)
  // If the winner's record is damaged, the claim succeeds, so that the session is not blocked by unreadable bytes.
  if (found === undefined) {
    yield* append(context, tenant, session, [epoch])
    return { session, epoch, undoneIn: [] }
  }
  const holds = yield* ask(
    `SELECT 1 AS holds FROM epochs e JOIN sessions s ON s.id = e.session
     WHERE e.tenant = ${TENANT} AND e.cover = ? AND e.epoch = ? AND s.name = ? LIMIT 1`,
    tenant,
    cover,
    winner,
    session,
  )
  if (holds.length === 0) yield* append(context, tenant, session, [found.epoch])
  return found
}

export function* findEdits(context: Context, tenant: string, keys: readonly string[]): Job<FirstSendEdit[]> {
  const { dialect, seal } = context
  const blind = [...new Set(keys)].map((key) => seal.blind(tenant, key))
  const rows = yield* ask(
    `SELECT ${dialect.text('e.key')} AS key, ${recordColumns(context)}, ${dialect.text('s.name')} AS session
     FROM ${dialect.firstEdits} e JOIN records r ON r.id = e.record JOIN sessions s ON s.id = e.session
     WHERE e.tenant = ${TENANT} AND e.key IN (${dialect.each}) ORDER BY e.record`,
    tenant,
    JSON.stringify(blind),
  )
  const first = firstOf(rows, 'key')
  return blind.flatMap((key) => {
    const row = first.get(key)
    const record = row === undefined ? undefined : recordOf(context, tenant, row, text(row, 'session'))
    return record?.type === 'edit' ? [record] : []
  })
}

export function* seen(
  { dialect, seal }: Context,
  tenant: string,
  identities: readonly string[],
  session?: string,
): Job<ReadonlySet<string>> {
  const blind = identities.map((identity) => seal.blind(tenant, identity))
  const within = session === undefined ? null : (yield* headOf(tenant, session)).id
  const rows = yield* ask(
    `SELECT DISTINCT ${dialect.text('i.identity')} AS identity FROM items i WHERE i.tenant = ${TENANT}
     AND i.identity IN (${dialect.each}) AND (CAST(? AS BIGINT) IS NULL OR i.session = ?)`,
    tenant,
    JSON.stringify(blind),
    within,
    within,
  )
  const held = new Set(rows.map((row) => text(row, 'identity')))
  return new Set(identities.filter((_, i) => held.has(blind[i]!)))
}

/** Records with all words, and the newest with any of them, in the same order in every store. */
export function* search(
  context: Context,
  tenant: string,
  query: string,
  { session, inContext, limit }: SearchOptions & { readonly limit: number },
): Job<SearchHit[]> {
  const { dialect } = context
  const { from, record: place, match: matches, and, or } = dialect.words
  const asked = readQuery(query, yield* context.now())
  if (asked.words.length === 0) return []
  const number = yield* tenantId(tenant)
  const within = session === undefined ? null : (yield* headOf(tenant, session)).id
  const found = new Map<number, StoredItem>()

  const words: { match: string; held: number }[] = []
  for (const forms of asked.words) {
    const keys = forms.map((form) => dialect.quote + wordKey(context, tenant, number, form) + dialect.quote)
    const match = `(${keys.join(or)})`
    const of = within === null ? '' : ` JOIN records r ON r.id = ${place} AND r.session = ?`
    const sql = `SELECT COUNT(DISTINCT ${place}) AS held FROM ${from}${of} WHERE ${matches}`
    const [row] = yield* ask(sql, ...(within === null ? [] : [within]), match)
    words.push({ match, held: int(row, 'held') })
  }
  const [all] = yield* ask(
    `SELECT COUNT(DISTINCT identity) AS entries FROM items WHERE tenant = ? AND (CAST(? AS BIGINT) IS NULL OR session = ?)`,
    number,
    within,
    within,
  )

  function* take(where: string, ...values: readonly (string | number | null)[]): Job<void> {
    const rows = yield* ask(
      `SELECT r.id, ${recordColumns(context)}, ${dialect.text('s.name')} AS session
       FROM ${where}`,
      ...values,
    )
    for (const row of rows) {
      const id = int(row, 'id')
      if (found.has(id)) continue
      const at = { session: text(row, 'session'), version: int(row, 'version') }
      const record = recordOf(context, tenant, row, at.session)
      if (record !== undefined) found.set(id, { ...at, record })
    }
  }
  const look = (match: string, count: number): Job<void> =>
    take(
      `${from} JOIN records r ON r.id = ${place} JOIN sessions s ON s.id = r.session
       WHERE ${matches} AND (CAST(? AS BIGINT) IS NULL OR r.session = ?) ORDER BY ${place} DESC LIMIT ?`,
      match,
      within,
      within,
      count,
    )

  const present = words.filter(({ held }) => held > 0).sort((a, b) => a.held - b.held)
  if (present.length > 1) yield* look(present.map(({ match }) => match).join(and), PER_WORD)
  for (const { match } of present) if (found.size < ENOUGH_RECORDS) yield* look(match, Math.max(limit, PER_WORD))
  const counts = { entries: int(all, 'entries'), holding: words.map(({ held }) => held) }
  const places = inContext === true ? placesOf([...found.values()], asked, counts) : []
  for (const { session: of, first, last } of places)
    yield* take(
      `records r JOIN sessions s ON s.id = r.session
       WHERE s.tenant = ? AND s.name = ? AND r.version BETWEEN ? AND ?`,
      number,
      of,
      first,
      last,
    )
  return rankRecords([...found.values()], asked, counts, { inContext, limit })
}
