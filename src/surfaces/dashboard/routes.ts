import { PlimsollError } from '../../core/errors.ts'
import type { Handle } from '../../core/handles.ts'
import { isHandle } from '../../core/handles.ts'
import type { Plimsoll } from '../../options.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import { conversationPageOf } from './conversation-page.ts'
import type { CountText } from './composition.ts'
import type { FoldedLog } from './fold-log.ts'
import type { DashboardInfo, LearnedRow, MeterRow, PolicyRow, SpendingPage } from './page-types.ts'
import { sessionPageOf } from './session-page.ts'
import type { PriceOf } from './savings.ts'
import { Spending } from './spending.ts'
import type { StoredSessions } from './stored-sessions.ts'

export interface RouteDeps {
  readonly info: () => Promise<DashboardInfo>
  readonly sessions: StoredSessions
  readonly artifacts: () => Promise<ArtifactStore>
  readonly priceOf: PriceOf
  /** Counts text as this model would, by estimate. */
  readonly countFor: (model: string) => CountText
  readonly policy: () => Promise<readonly PolicyRow[]>
  readonly budgets: () => Promise<SpendingPage['budgets']>
  readonly learned: () => Promise<readonly LearnedRow[]>
  /** What changes something; absent on a store that is only looked at. */
  readonly actions?: Actions
}

export interface Actions {
  readonly plimsoll: Plimsoll
  forget(id: string): Promise<boolean>
  /** Starts the demo session in the background. */
  demo?(): Promise<{ readonly session: string }>
  compare?(request: CompareRequest): Promise<unknown>
}

export interface CompareRequest {
  readonly session: string
  readonly tenant: string
  readonly sides: readonly { readonly policy: string; readonly window: number }[]
}

/** What was asked, as JSON members; from the query of a GET or the body of a POST. */
export type Asked = Readonly<Record<string, unknown>>

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly answer: (deps: RouteDeps, asked: Asked) => Promise<unknown>
}

const MOST_ROWS = 2_000
const MOST_FIGURES = 100
const ROWS_A_PAGE = 200
/** A text in the page; the rest is read in ranges or downloaded. */
const MOST_TEXT_BYTES = 256 * 1024

export const ROUTES: Readonly<Record<string, Route>> = {
  info: { method: 'GET', answer: ({ info }) => info() },
  sessions: {
    method: 'GET',
    async answer({ sessions }, asked) {
      const rows = await sessions.list(textIn(asked, 'q', ''))
      return { total: rows.length, rows: rows.slice(0, MOST_ROWS) }
    },
  },
  figures: {
    method: 'POST',
    async answer({ sessions }, { sessions: wanted }) {
      const list = Array.isArray(wanted) ? (wanted as Asked[]).slice(0, MOST_FIGURES) : []
      const found = []
      for (const each of list)
        found.push(await sessions.figures(textIn(each, 'tenant'), textIn(each, 'session')).catch(() => undefined))
      return { figures: found.filter((figures) => figures !== undefined) }
    },
  },
  session: {
    method: 'GET',
    async answer({ sessions, priceOf, countFor }, asked) {
      const [tenant, session] = [textIn(asked, 'tenant'), textIn(asked, 'session')]
      const { log, version } = await sessions.log(tenant, session)
      return sessionPageOf(log, { tenant, session, version, priceOf }, countFor(modelOf(log)))
    },
  },
  conversation: {
    method: 'GET',
    async answer({ sessions, countFor }, asked) {
      const { log } = await sessions.log(textIn(asked, 'tenant'), textIn(asked, 'session'))
      const epoch = textIn(asked, 'epoch', '')
      const query = {
        agent: textIn(asked, 'agent', 'main'),
        from: numberIn(asked, 'from', 0),
        limit: Math.min(ROWS_A_PAGE, numberIn(asked, 'limit', ROWS_A_PAGE)),
        ...(epoch !== '' && { epoch }),
      }
      return conversationPageOf(log, query, countFor(modelOf(log)))
    },
  },
  item: {
    method: 'GET',
    async answer({ sessions }, asked) {
      const { log } = await sessions.log(textIn(asked, 'tenant'), textIn(asked, 'session'))
      const identity = textIn(asked, 'identity')
      const found = log.items.find((item) => item.identity === identity)
      if (found === undefined) throw new PlimsollError('not-found', 'This session has no such item.')
      const { kind, toolName, text, fragment, at } = found
      return { identity, kind, tool: toolName, text, fragment, at }
    },
  },
  artifacts: {
    method: 'GET',
    async answer({ artifacts }, asked) {
      const [session, tool, after] = [textIn(asked, 'session', ''), textIn(asked, 'tool', ''), textIn(asked, 'after', '')]
      const list = await (
        await artifacts()
      ).list(textIn(asked, 'tenant'), {
        limit: ROWS_A_PAGE,
        ...(session !== '' && { session }),
        ...(tool !== '' && { tool }),
        ...(isHandle(after) && { after }),
      })
      return { rows: list }
    },
  },
  artifact: {
    method: 'GET',
    async answer({ artifacts }, asked) {
      const [tenant, handle] = [textIn(asked, 'tenant'), handleIn(asked)]
      const store = await artifacts()
      const stat = await store.stat(tenant, handle)
      if (stat === undefined) throw new PlimsollError('not-found', `There is no artifact ${handle}.`)
      const start = Math.min(stat.bytes, numberIn(asked, 'start', 0))
      const end = Math.min(stat.bytes, start + MOST_TEXT_BYTES, numberIn(asked, 'end', stat.bytes))
      const bytes = (await store.read(tenant, handle, { start, end })) ?? new Uint8Array()
      return { stat, start, end, text: new TextDecoder().decode(bytes) }
    },
  },
  'artifact/search': {
    method: 'POST',
    answer: async (deps, asked) =>
      acting(deps).plimsoll.artifacts.grep(handleIn(asked), { tenant: textIn(asked, 'tenant'), pattern: textIn(asked, 'pattern') }),
  },
  'artifact/query': {
    method: 'POST',
    answer: async (deps, asked) => {
      const sql = textIn(asked, 'sql', '')
      const tenant = textIn(asked, 'tenant')
      return acting(deps).plimsoll.artifacts.query(handleIn(asked), { tenant, ...(sql !== '' && { sql }) })
    },
  },
  'artifact/run': {
    method: 'POST',
    answer: async (deps, asked) =>
      acting(deps).plimsoll.artifacts.run(handleIn(asked), { tenant: textIn(asked, 'tenant'), code: textIn(asked, 'code') }),
  },
  spending: {
    method: 'GET',
    async answer(deps) {
      const spending = await allCalls(deps)
      return spending.page(await deps.budgets())
    },
  },
  meter: {
    method: 'GET',
    async answer(deps): Promise<{ readonly models: readonly MeterRow[]; readonly learned: readonly LearnedRow[] }> {
      return { models: (await allCalls(deps)).meter(), learned: await deps.learned() }
    },
  },
  policy: { method: 'GET', answer: async ({ policy }) => ({ rows: await policy() }) },
  'session/undo': {
    method: 'POST',
    answer: async (deps, asked) => ({ undone: await sessionOf(deps, asked).undo() }),
  },
  'session/pin': {
    method: 'POST',
    async answer(deps, asked) {
      await sessionOf(deps, asked).pin(textIn(asked, 'identity'), asked['pinned'] !== false)
      return { pinned: asked['pinned'] !== false }
    },
  },
  'session/fork': {
    method: 'POST',
    async answer(deps, asked) {
      const { id } = await sessionOf(deps, asked).fork(textIn(asked, 'to'))
      return { session: id }
    },
  },
  'session/compact': {
    method: 'POST',
    async answer(deps, asked) {
      const instructions = textIn(asked, 'instructions', '')
      return sessionOf(deps, asked).compact(instructions === '' ? {} : { instructions })
    },
  },
  'limits/forget': {
    method: 'POST',
    answer: async (deps, asked) => ({ forgotten: await acting(deps).forget(textIn(asked, 'id')) }),
  },
  demo: {
    method: 'POST',
    async answer(deps) {
      const { demo } = acting(deps)
      if (demo === undefined) throw new PlimsollError('unsupported', 'The demo session needs a running proxy.')
      return demo()
    },
  },
  compare: {
    method: 'POST',
    async answer(deps, asked) {
      const { compare } = acting(deps)
      if (compare === undefined)
        throw new PlimsollError('unsupported', 'Only recorded files can be compared under two policies.', {
          advice: 'Run: plimsoll dashboard session.jsonl',
        })
      const sides = (Array.isArray(asked['sides']) ? (asked['sides'] as Asked[]) : []).slice(0, 2).map((side) => ({
        policy: textIn(side, 'policy'),
        window: numberIn(side, 'window', 0),
      }))
      return compare({ tenant: textIn(asked, 'tenant'), session: textIn(asked, 'session'), sides })
    },
  },
}

const modelOf = ({ calls }: FoldedLog): string => calls.at(-1)?.model ?? 'unknown'

async function allCalls({ sessions }: RouteDeps): Promise<Spending> {
  const spending = new Spending()
  for (const { tenant, session } of await sessions.list()) {
    const found = await sessions.log(tenant, session).catch(() => undefined)
    if (found !== undefined) spending.add(found.log, tenant)
  }
  return spending
}

function acting({ actions }: RouteDeps): Actions {
  if (actions !== undefined) return actions
  throw new PlimsollError('unsupported', 'This page only shows; nothing can be changed from here.')
}

const sessionOf = (deps: RouteDeps, asked: Asked): ReturnType<Plimsoll['session']> =>
  acting(deps).plimsoll.session({
    id: textIn(asked, 'session'),
    tenant: textIn(asked, 'tenant'),
    agent: textIn(asked, 'agent', 'main'),
  })

function textIn(asked: Asked, name: string, fallback?: string): string {
  const value = asked[name] ?? fallback
  if (typeof value === 'string' && (value !== '' || fallback !== undefined)) return value
  throw new PlimsollError('bad-input', `${name} is missing, or is no text.`)
}

function numberIn(asked: Asked, name: string, fallback: number): number {
  const value = Number(asked[name] ?? fallback)
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new PlimsollError('bad-input', `${name} must be a whole number from 0 on.`)
}

function handleIn(asked: Asked): Handle {
  const handle = textIn(asked, 'handle')
  if (isHandle(handle)) return handle
  throw new PlimsollError('bad-input', `${JSON.stringify(handle.slice(0, 60))} is no handle.`, {
    advice: 'A handle is art_ and 26 characters.',
  })
}
