import { writeFileSync } from 'node:fs'
import { scenarios, simulate } from '../src/testing/simulator/index.ts'

// Writes docs/contextguard-table.md: contextguard as shipped beside its reference run. Usage: npx tsx scripts/contextguard-table.ts [pattern]
const pattern = new RegExp(process.argv[2] ?? '.')
const lines = [
  '# contextguard: shipped against reference',
  '',
  'Written by `scripts/contextguard-table.ts`. C: compactions; peak: highest real tokens that were sent. The reference columns are those of the scenario table, which the',
  'test-only reference mode reproduces to the token (`test/policies/contextguard.test.ts`). Shipped keeps the open tool step and carries facts, so its peaks differ.',
  '',
  '| Scenario | window | C reference | C shipped | peak reference | peak shipped | in a row | typed errors | overflows |',
  '|---|--:|--:|--:|--:|--:|--:|--:|--:|',
]
for (const scenario of scenarios.filter(({ name }) => pattern.test(name))) {
  const run = await simulate(scenario, { policy: 'contextguard' })
  const { reference, name, window } = scenario
  lines.push(
    `| ${name} | ${window} | ${reference.compactions} | ${run.compactions} | ${reference.peakReal} | ${run.peakReal} | ${run.maxConsecutiveCompactions} | ${run.typedErrors} | ${run.overflows} |`,
  )
}
writeFileSync(new URL('../docs/contextguard-table.md', import.meta.url), `${lines.join('\n')}\n`)
