import { logCases } from './session-store/log-cases.ts'
import { lookupCases } from './session-store/lookup-cases.ts'
import { searchCases } from './session-store/search-cases.ts'
import { leaseCases, tenantCases } from './session-store/tenant-cases.ts'
import type { StoreCase } from './session-store/subject.ts'

export { manualClock } from './session-store/subject.ts'
export type { StoreCase, StoreSubject } from './session-store/subject.ts'

/**
 * The contract of `SessionStore` as cases for any test runner. Give each case a subject of its own:
 *
 *     for (const { name, run } of sessionStoreCases()) it(name, async () => run(await makeSubject()))
 *
 * `durable: false` leaves out the cases that need data to outlive a handle.
 */
export function sessionStoreCases(options: { durable?: boolean } = {}): readonly StoreCase[] {
  const { durable = true } = options
  const all = [...logCases, ...lookupCases, ...searchCases, ...tenantCases, ...leaseCases]
  return durable ? all : all.filter((storeCase) => storeCase.durable !== true)
}
