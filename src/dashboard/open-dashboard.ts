import type { LearnedPlace } from '../engine/learning/learned-limits.ts'
import { hiddenSteps } from '../gateway/hidden/session.ts'
import { storedQuotas } from '../gateway/operate/quotas.ts'
import { createMeter } from '../meter/index.ts'
import type { Plimsoll } from '../plimsoll.ts'
import type { Catalogue } from '../ports/catalogue.ts'
import type { MaintainedStore } from '../ports/store-maintenance.ts'
import { packageVersion } from '../util/package-root.ts'
import type { Dashboard } from '../gateway/http/serve.ts'
import { createDashboard } from './dashboard.ts'
import type { RouteDeps } from './routes.ts'
import type { DashboardInfo, PolicyRow, ReplayState, SpendingPage } from './page-types.ts'
import { type ListedSession, storedSessions } from './stored-sessions.ts'

export interface DashboardOptions {
  readonly plimsoll: Plimsoll
  readonly sessions: MaintainedStore
  readonly catalogue: Catalogue
  readonly source: DashboardInfo['source']
  /** The store's URL without its password. */
  readonly storeName: string
  /** Variables that point an agent at the proxy. */
  readonly connect?: () => DashboardInfo['connect']
  readonly policy: () => Promise<readonly PolicyRow[]>
  /** Starts the demo session in the background. */
  readonly demo?: () => Promise<void>
  readonly compare?: RouteDeps['compare']
  /** The state of a recording that is re-run. */
  readonly replayOf?: (session: string) => ReplayState | undefined
  readonly unreadable?: RouteDeps['unreadable']
}

export function openDashboard(options: DashboardOptions): Dashboard {
  const { plimsoll, sessions, catalogue, source, storeName, connect = () => [] } = options
  const priceOf = (model: string) => catalogue.resolve(model).info.price
  const meter = createMeter({ catalogue })
  const countFor = (model: string) => (text: string) => meter.countText(model, text).tokens
  const stored = storedSessions(sessions, { countFor, replayOf: options.replayOf })
  const steps = hiddenSteps(sessions)
  return createDashboard({
    info: async () => ({
      version: packageVersion(),
      source,
      connect: connect(),
      store: storeName,
    }),
    sessions: stored,
    plimsoll,
    priceOf,
    unreadable: options.unreadable ?? [],
    policy: options.policy,
    budgets: (rows) => currentBudgets(plimsoll, rows),
    quotas: (tenant) => storedQuotas(sessions, tenant),
    learned: async () => (await plimsoll.limits.list()).map((entry) => ({ ...entry, id: idOf(entry) })),
    hasHiddenSteps: async (owner) => (await steps.chains(owner)).length > 0,
    demo: options.demo,
    compare: options.compare,
    async forget(id) {
      const found = (await plimsoll.limits.list()).find((entry) => idOf(entry) === id)
      if (found === undefined) return false
      const { tenant, endpoint, model } = found
      return (await plimsoll.limits.forget({ tenant, endpoint, model })) > 0
    },
  })
}

const idOf = ({ tenant, endpoint, model }: LearnedPlace): string => JSON.stringify([tenant, endpoint, model])

type BudgetRow = SpendingPage['budgets'][number]

/** Number of newest sessions whose budgets are shown: budgets of a session, an agent or a call differ by session. */
const NEWEST = 20
const MOST_ROWS = 50

/**
 * The budgets of the newest sessions, fullest first. A budget that several sessions share is listed once; names include the session or tenant where
 * they differ.
 */
async function currentBudgets(
  plimsoll: Pick<Plimsoll, 'session'>,
  sessions: readonly ListedSession[],
): Promise<readonly BudgetRow[]> {
  const rows = new Map<string, BudgetRow>()
  const newest = sessions.slice(0, NEWEST)
  const isShared = new Set(newest.map(({ tenant }) => tenant)).size > 1
  for (const { tenant, session } of newest) {
    const { budgets } = await plimsoll.session({ id: session, tenant }).status()
    for (const { budget, scope, unit, spent, held, hard } of budgets) {
      const isOwn = scope === 'session' || scope === 'agent' || scope === 'call'
      const whose = [...(isOwn ? [session] : []), ...(isShared ? [tenant] : [])]
      const name = whose.length === 0 ? budget : `${budget} (${whose.join(', ')})`
      rows.set(name, { name, used: spent + held, of: hard, unit })
    }
  }
  const share = ({ used, of }: BudgetRow): number => (of === 0 ? 0 : used / of)
  return [...rows.values()].sort((a, b) => share(b) - share(a)).slice(0, MOST_ROWS)
}
