import { PlimsollError } from '../core/errors.ts'
import { type Handle, isHandle } from '../core/handles.ts'
import type { RecallAnswer } from '../engine/readers/recall.ts'
import type { Plimsoll } from '../plimsoll.ts'
import type { StepOwner } from '../gateway/hidden/session.ts'
import type { Audience } from '../gateway/operate/audience.ts'
import { conversationPageOf, hiddenRowsOf } from './conversation-page.ts'
import { callRow, type PriceOf, removalsOf } from '../meter/session/figures.ts'
import type {
  DashboardInfo,
  FoundRow,
  LearnedRow,
  MeterRow,
  PolicyRow,
  Report,
  SessionList,
  SessionSummary,
  SpendingPage,
} from './page-types.ts'
import { compactionPageOf, pageOf, seriesOf, sessionPageOf } from './session-page.ts'
import { spentOf } from '../meter/session/spent.ts'
import { Spending } from './spending.ts'
import type { ListedSession, ReadLog, StoredSessions } from './stored-sessions.ts'

export interface RouteDeps {
  readonly info: () => Promise<DashboardInfo>
  readonly sessions: StoredSessions
  readonly plimsoll: Pick<Plimsoll, 'archive' | 'artifacts' | 'ledger' | 'session'>
  readonly priceOf: PriceOf
  readonly policy: () => Promise<readonly PolicyRow[]>
  readonly quotas: (tenant: string) => Promise<SpendingPage['quotas']>
  readonly budgets: (sessions: readonly ListedSession[]) => Promise<SpendingPage['budgets']>
  readonly learned: () => Promise<readonly LearnedRow[]>
  /** Whether this agent has hidden steps. */
  readonly hasHiddenSteps: (owner: StepOwner) => Promise<boolean>
  readonly forget: (id: string) => Promise<boolean>
  /** Recorded files that could not be read, one sentence each. */
  readonly unreadable: readonly string[]
  /** Starts the demo session in the background; absent without a proxy. */
  readonly demo?: () => Promise<void>
  /** Replays a recorded session under several policies or windows; a page over a store has no recordings. */
  readonly compare?: (session: string, sides: readonly ComparedSide[]) => Promise<Report>
}

export interface ComparedSide {
  readonly policy: string
  readonly window: number
}

/** The parameters of a request: the query of a GET or the body of a POST. */
export type Asked = Readonly<Record<string, unknown>>

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly answer: (deps: RouteDeps, asked: Asked, audience: Audience) => Promise<unknown>
}

const MOST_TENANTS = 10
/** Of a search, for each tenant. */
const FOUND = { limit: 20, max_characters: 20_000 }
const ROWS_A_PAGE = 200
/** The largest part of an artifact in one answer; the rest is read in ranges or downloaded. */
const MOST_TEXT_BYTES = 256 * 1024

export const ROUTES: Readonly<Record<string, Route>> = {
  info: { method: 'GET', answer: ({ info }) => info() },
  sessions: {
    method: 'GET',
    async answer(deps, asked, audience): Promise<SessionList> {
      return sessionList(deps, await seen(deps.sessions, audience, textIn(asked, 'q', '')), asked)
    },
  },
  /** What was said and returned, in one session or all that the caller sees, as `recall` finds it. */
  search: {
    method: 'GET',
    async answer({ sessions, plimsoll }, asked, audience): Promise<{ readonly rows: readonly FoundRow[] }> {
      const [query, session] = [textIn(asked, 'q'), textIn(asked, 'session', '') || undefined]
      const tenants =
        session === undefined
          ? new Set((await seen(sessions, audience)).map(({ tenant }) => tenant))
          : [tenantIn(asked, audience)]
      const rows: FoundRow[] = []
      for (const tenant of [...tenants].slice(0, MOST_TENANTS)) {
        const readers = plimsoll.archive.readers({ tenant, session })
        const { items } = (await readers.call({ name: 'recall', input: { query, ...FOUND } })) as RecallAnswer
        for (const { handle = '', kind, toolName: tool, at, excerpt } of items)
          rows.push({ tenant, session: session ?? handle.slice(0, handle.lastIndexOf('#')), kind, tool, at, excerpt })
      }
      return { rows }
    },
  },
  session: {
    method: 'GET',
    async answer({ sessions, priceOf, plimsoll }, asked, audience) {
      const [tenant, session] = [tenantIn(asked, audience), textIn(asked, 'session')]
      const read = await sessions.log(tenant, session)
      const { figures } = await sessions.summary(tenant, session)
      const { verdict } = plimsoll.ledger.session(tenant, session) ?? {}
      return sessionPageOf(read, { ...figures, verdict }, priceOf)
    },
  },
  /** Calls after the one with this number, column by column. */
  series: {
    method: 'GET',
    answer: async (deps, asked, audience) =>
      seriesOf(await readLog(deps, asked, audience), numberIn(asked, 'after', 0)),
  },
  calls: {
    method: 'GET',
    async answer(deps, asked, audience) {
      const { log } = await readLog(deps, asked, audience)
      const { rows, ...page } = pageOf(log.calls, numberIn(asked, 'from', 0))
      return { ...page, rows: rows.map(callRow) }
    },
  },
  compaction: {
    method: 'GET',
    answer: async (deps, asked, audience) =>
      compactionPageOf(await readLog(deps, asked, audience), textIn(asked, 'id'), deps.priceOf),
  },
  spent: {
    method: 'GET',
    async answer(deps, asked, audience) {
      const { log, composition } = await readLog(deps, asked, audience)
      return spentOf(log, composition(), deps.priceOf)
    },
  },
  removals: {
    method: 'GET',
    answer: async (deps, asked, audience) =>
      pageOf(removalsOf((await readLog(deps, asked, audience)).log), numberIn(asked, 'from', 0)),
  },
  conversation: {
    method: 'GET',
    async answer(deps, asked, audience) {
      const { log, count } = await readLog(deps, asked, audience)
      const epoch = textIn(asked, 'epoch', '')
      const query = {
        agent: textIn(asked, 'agent', 'main'),
        from: numberIn(asked, 'from', 0),
        limit: Math.min(ROWS_A_PAGE, numberIn(asked, 'limit', ROWS_A_PAGE)),
        epoch: epoch || undefined,
        item: textIn(asked, 'item', '') || undefined,
      }
      return conversationPageOf(log, query, count)
    },
  },
  item: {
    method: 'GET',
    async answer({ sessions }, asked, audience) {
      const { log } = await sessions.log(tenantIn(asked, audience), textIn(asked, 'session'))
      const identity = textIn(asked, 'identity')
      const found = log.items.find((item) => item.identity === identity)
      if (found === undefined) throw new PlimsollError('not-found', 'This session has no such item.')
      const { kind, toolName, text, fragment, at } = found
      return { identity, kind, tool: toolName, text, fragment, at }
    },
  },
  hidden: {
    method: 'GET',
    async answer({ sessions, hasHiddenSteps }, asked, audience) {
      const [tenant, session] = [tenantIn(asked, audience), textIn(asked, 'session')]
      const { log } = await sessions.log(tenant, session)
      const agents = new Set<string>()
      for (const agent of new Set(log.items.map((item) => item.agent ?? 'main')))
        if (await hasHiddenSteps({ tenant, session, agent })) agents.add(agent)
      return { rows: hiddenRowsOf(log, agents) }
    },
  },
  artifacts: {
    method: 'GET',
    async answer({ plimsoll }, asked, audience) {
      const [session, tool, after] = [
        textIn(asked, 'session', ''),
        textIn(asked, 'tool', ''),
        textIn(asked, 'after', ''),
      ]
      const rows = await plimsoll.artifacts.list({
        tenant: tenantIn(asked, audience),
        limit: ROWS_A_PAGE,
        session: session || undefined,
        tool: tool || undefined,
        after: isHandle(after) ? after : undefined,
      })
      return { rows }
    },
  },
  artifact: {
    method: 'GET',
    async answer({ plimsoll }, asked, audience) {
      const [tenant, handle] = [tenantIn(asked, audience), handleIn(asked)]
      const stat = await plimsoll.artifacts.stat(handle, { tenant })
      if (stat === undefined) throw new PlimsollError('not-found', `There is no artifact ${handle}.`)
      const start = Math.min(stat.bytes, numberIn(asked, 'start', 0))
      const end = Math.min(stat.bytes, start + MOST_TEXT_BYTES, numberIn(asked, 'end', stat.bytes))
      const bytes = (await plimsoll.artifacts.read(handle, { tenant, range: { start, end } })) ?? new Uint8Array()
      return { stat, start, end, text: new TextDecoder().decode(bytes) }
    },
  },
  spending: {
    method: 'GET',
    async answer(deps, _asked, audience) {
      const rows = await seen(deps.sessions, audience)
      const tenants = [...new Set(rows.map(({ tenant }) => tenant))].slice(0, MOST_TENANTS)
      const quotas = (await Promise.all(tenants.map((tenant) => deps.quotas(tenant)))).flat()
      return (await allCalls(deps, rows)).page({ budgets: await deps.budgets(rows), quotas })
    },
  },
  meter: {
    method: 'GET',
    async answer(
      deps,
      _asked,
      audience,
    ): Promise<{ readonly models: readonly MeterRow[]; readonly learned: readonly LearnedRow[] }> {
      const learned = (await deps.learned()).filter(({ tenant }) => audience.sees(tenant))
      return { models: (await allCalls(deps, await seen(deps.sessions, audience))).meter(), learned }
    },
  },
  policy: { method: 'GET', answer: async ({ policy }) => ({ rows: await policy() }) },
  'session/undo': {
    method: 'POST',
    answer: async (deps, asked, audience) => ({ undone: await sessionOf(deps, asked, audience).undo() }),
  },
  'session/pin': {
    method: 'POST',
    async answer(deps, asked, audience) {
      await sessionOf(deps, asked, audience).pin(textIn(asked, 'identity'), asked['pinned'] !== false)
      return { pinned: asked['pinned'] !== false }
    },
  },
  'session/fork': {
    method: 'POST',
    async answer(deps, asked, audience) {
      const { id } = await sessionOf(deps, asked, audience).fork(textIn(asked, 'to'))
      return { session: id }
    },
  },
  'session/compact': {
    method: 'POST',
    async answer(deps, asked, audience) {
      const instructions = textIn(asked, 'instructions', '')
      return sessionOf(deps, asked, audience).compact(instructions === '' ? {} : { instructions })
    },
  },
  'limits/forget': {
    method: 'POST',
    async answer(deps, asked, audience) {
      const id = textIn(asked, 'id')
      const found = (await deps.learned()).find((row) => row.id === id)
      if (found === undefined || !audience.sees(found.tenant))
        throw new PlimsollError('not-found', `There is no learned limit ${JSON.stringify(id.slice(0, 200))}.`)
      return { forgotten: await deps.forget(id) }
    },
  },
  demo: {
    method: 'POST',
    async answer({ demo }) {
      if (demo === undefined)
        throw new PlimsollError('unsupported', 'The demo session needs a running proxy. Start one with plimsoll proxy.')
      await demo()
      return { started: true }
    },
  },
  compare: {
    method: 'POST',
    async answer({ compare }, asked) {
      if (compare === undefined)
        throw new PlimsollError('unsupported', 'Only recorded files can be compared: plimsoll dashboard session.jsonl')
      const sides = Array.isArray(asked['sides']) ? (asked['sides'] as Asked[]).slice(0, 2) : []
      return compare(
        textIn(asked, 'session'),
        sides.map((side) => ({ policy: textIn(side, 'policy'), window: numberIn(side, 'window', 0) })),
      )
    },
  },
}

const readLog = ({ sessions }: RouteDeps, asked: Asked, audience: Audience): Promise<ReadLog> =>
  sessions.log(tenantIn(asked, audience), textIn(asked, 'session'))

const seen = async (sessions: StoredSessions, audience: Audience, query = ''): Promise<readonly ListedSession[]> =>
  (await sessions.list(query)).filter(({ tenant }) => audience.sees(tenant))

const LIST_ROWS = 50
/** A large store is read little by little: an answer comes early and says of how many sessions it knows the figures. */
const READ_MS = 250

const FILTERS: Readonly<Record<string, (figures: SessionSummary) => boolean>> = {
  'near the limit': ({ load, limit }) => limit > 0 && load.value > 0.7 * limit,
  compacted: ({ compactions }) => compactions > 0,
  halted: ({ halted, verdict }) => halted !== undefined || verdict === 'halt' || verdict === 'final',
  'failed calls': ({ failed }) => failed > 0,
  'overflow recovered': ({ recovered }) => recovered > 0,
  'no usage reported': ({ withoutUsage }) => withoutUsage > 0,
  'price unknown': ({ unpriced }) => unpriced > 0,
}

/** What a user should look at first. */
const attention = ({ halted, failed, recovered, load, limit }: SessionSummary): number =>
  halted !== undefined ? 4 : failed > 0 ? 3 : recovered > 0 ? 2 : limit > 0 && load.value > 0.9 * limit ? 1 : 0

const SORTS: Readonly<Record<string, (figures: SessionSummary) => number>> = {
  attention,
  cost: ({ cost }) => cost?.value ?? -1,
  saved: ({ saved }) => saved?.value ?? -Infinity,
  calls: ({ calls }) => calls,
  compactions: ({ compactions }) => compactions,
  load: ({ load, limit }) => (limit === 0 ? 0 : load.value / limit),
}

/** A page of the list, filtered and sorted by what was read of the logs so far. */
async function sessionList(deps: RouteDeps, all: readonly ListedSession[], asked: Asked): Promise<SessionList> {
  const { sessions, plimsoll, unreadable } = deps
  const [filter, sort, from] = [textIn(asked, 'filter', ''), textIn(asked, 'sort', ''), numberIn(asked, 'from', 0)]
  const until = performance.now() + READ_MS
  const known = new Map<ListedSession, SessionSummary>()
  for (const [place, row] of all.entries()) {
    const isShown = place >= from && place < from + LIST_ROWS && filter === ''
    const found =
      sessions.known(row) ??
      (isShown || performance.now() < until
        ? await sessions.summary(row.tenant, row.session).catch(() => undefined)
        : undefined)
    const verdict = plimsoll.ledger.session(row.tenant, row.session)?.verdict
    if (found !== undefined) known.set(row, { ...found.figures, verdict })
  }
  const passes = Object.hasOwn(FILTERS, filter) ? FILTERS[filter]! : undefined
  const matching = passes === undefined ? all : all.filter((row) => known.has(row) && passes(known.get(row)!))
  const rank = Object.hasOwn(SORTS, sort) ? SORTS[sort]! : undefined
  const rankOf = (row: ListedSession): number => (known.has(row) ? rank!(known.get(row)!) : -Infinity)
  const sorted = rank === undefined ? matching : matching.toSorted((a, b) => rankOf(b) - rankOf(a))
  const sum = (of: (figures: SessionSummary) => number): number =>
    matching.reduce((total, row) => total + (known.has(row) ? of(known.get(row)!) : 0), 0)
  return {
    total: all.length,
    read: known.size,
    matched: matching.length,
    rows: sorted.slice(from, from + LIST_ROWS).map((row) => ({ ...row, figures: known.get(row) })),
    totals: {
      calls: sum(({ calls }) => calls),
      costUsd: sum(({ cost }) => cost?.value ?? 0),
      unpriced: sum(({ unpriced }) => unpriced),
      savedUsd: sum(({ saved }) => saved?.value ?? 0),
    },
    unreadable,
  }
}

async function allCalls({ sessions }: RouteDeps, rows: readonly ListedSession[]): Promise<Spending> {
  const spending = new Spending()
  for (const { tenant, session } of rows) {
    const found = await sessions.summary(tenant, session).catch(() => undefined)
    if (found !== undefined) spending.join(found.spending)
  }
  return spending
}

const sessionOf = ({ plimsoll }: RouteDeps, asked: Asked, audience: Audience): ReturnType<Plimsoll['session']> =>
  plimsoll.session({
    id: textIn(asked, 'session'),
    tenant: tenantIn(asked, audience),
    agent: textIn(asked, 'agent', 'main'),
  })

/** @throws PlimsollError `forbidden` for a tenant that the caller may not see. */
function tenantIn(asked: Asked, audience: Audience): string {
  const tenant = textIn(asked, 'tenant')
  if (audience.sees(tenant)) return tenant
  throw new PlimsollError('forbidden', 'Your credentials belong to another tenant.')
}

function textIn(asked: Asked, name: string, fallback?: string): string {
  const value = asked[name] ?? fallback
  if (typeof value === 'string' && (value !== '' || fallback !== undefined)) return value
  throw new PlimsollError('bad-input', `${name} is missing or is not text.`)
}

function numberIn(asked: Asked, name: string, fallback: number): number {
  const value = Number(asked[name] ?? fallback)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new PlimsollError('bad-input', `${name} must be a whole number, at least 0.`)
}

function handleIn(asked: Asked): Handle {
  const handle = textIn(asked, 'handle')
  if (isHandle(handle)) return handle
  throw new PlimsollError('bad-input', `${JSON.stringify(handle.slice(0, 60))} is not a handle.`, {
    advice: 'A handle is art_ followed by 26 characters.',
  })
}
