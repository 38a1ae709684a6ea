import { writeFileSync } from 'node:fs'
import { scenarios, simulate } from '../src/lab/simulator/simulate.ts'

// Writes bench/figures/contextguard-table.md: contextguard as shipped beside its design. Usage: npx tsx scripts/contextguard-table.ts
const rows: string[] = []
for (const scenario of scenarios) {
  const run = await simulate(scenario, { policy: 'contextguard' })
  const { reference, name, window } = scenario
  rows.push(
    `| ${name} | ${window} | ${reference.compactions} | ${run.compactions} | ${reference.peakReal} | ${run.peakReal} | ${run.maxConsecutiveCompactions} | ${run.typedErrors} | ${run.overflows} |`,
  )
}
const lines = [
  '# contextguard: shipped against reference',
  '',
  'Written by `scripts/contextguard-table.ts`. C: compactions; peak: highest real tokens that were sent. The reference columns are the',
  "design's own arithmetic (`test/simulator/reference-run.ts`, without engine or wire; `test/simulator/scenarios.test.ts` holds them). The",
  'shipped preset keeps the open tool step and carries facts, so its peaks differ.',
  '',
  '| Scenario | window | C reference | C shipped | peak reference | peak shipped | in a row | typed errors | overflows |',
  '|---|--:|--:|--:|--:|--:|--:|--:|--:|',
  ...rows,
]
writeFileSync(new URL('../bench/figures/contextguard-table.md', import.meta.url), `${lines.join('\n')}\n`)
