import type { Plimsoll } from '../../options.ts'
import { createMeter } from '../../meter/index.ts'
import type { Catalogue } from '../../ports/catalogue.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'
import { packageVersion } from '../../lib/package-root.ts'
import { createDashboard, type Dashboard } from './dashboard.ts'
import type { DashboardInfo, LearnedRow, PolicyRow, SpendingPage } from './page-types.ts'
import type { Actions } from './routes.ts'
import { storedSessions } from './stored-sessions.ts'

export interface DashboardOptions {
  readonly plimsoll: Plimsoll
  readonly sessions: MaintainedStore
  readonly catalogue: Catalogue
  readonly source: DashboardInfo['source']
  /** The store's address as people may see it: without a password. */
  readonly storeName: string
  /** Variables that point an agent at the proxy. */
  readonly connect?: () => DashboardInfo['connect']
  readonly policy: () => Promise<readonly PolicyRow[]>
  readonly budgets?: () => Promise<SpendingPage['budgets']>
  readonly learned?: () => Promise<readonly LearnedRow[]>
  readonly actions?: Actions
}

/** The page over a store and the engine that works on it. */
export function openDashboard(options: DashboardOptions): Dashboard {
  const { plimsoll, sessions, catalogue, source, storeName, connect = () => [] } = options
  const priceOf = (model: string) => catalogue.resolve(model).info.price
  const meter = createMeter({ catalogue })
  const stored = storedSessions(sessions, priceOf)
  return createDashboard({
    info: async () => ({
      version: packageVersion(),
      source,
      connect: connect(),
      sessions: (await stored.list()).length,
      store: storeName,
    }),
    sessions: stored,
    plimsoll,
    priceOf,
    countFor: (model) => (text) => meter.countText(model, text).tokens,
    policy: options.policy,
    budgets: options.budgets ?? (async () => []),
    learned: options.learned ?? (async () => []),
    actions: options.actions ?? {},
  })
}
