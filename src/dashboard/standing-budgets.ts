import type { Plimsoll } from '../options.ts'
import type { SessionRow, SpendingPage } from './page-types.ts'

type BudgetRow = SpendingPage['budgets'][number]

/** Budgets of a session, an agent or a call differ from session to session: those of the newest are looked at. */
const NEWEST = 20
const MOST_ROWS = 50

/**
 * How the budgets stand that the newest sessions draw on, the fullest first. One that several sessions share is named once, by whose it is
 * where there are several.
 */
export async function standingBudgets(
  plimsoll: Pick<Plimsoll, 'session'>,
  sessions: readonly SessionRow[],
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
