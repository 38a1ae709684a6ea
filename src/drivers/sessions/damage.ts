import type { StoreProblem } from '../../ports/store-maintenance.ts'

/** The default listener for records that cannot be read: loud, and the session goes on without them. */
export function warnOfDamage(problem: StoreProblem): void {
  const where = `session ${problem.session ?? ''}, version ${problem.version ?? 0}`
  process.emitWarning(`A stored record cannot be read and was left out (${where}). ${problem.message}`, {
    type: 'PlimsollDamage',
  })
}
