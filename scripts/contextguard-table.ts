import { writeFileSync } from 'node:fs'
import { scenarios, simulate } from '../src/testing/simulator/index.ts'
import { referencePolicy } from '../test/simulator/reference-mode.ts'

// Writes docs/contextguard-table.md: contextguard as shipped beside its reference mode. Usage: npx tsx scripts/contextguard-table.ts
let equal = 0
const rows: string[] = []
for (const scenario of scenarios) {
  const run = await simulate(scenario, { policy: 'contextguard' })
  const designed = await simulate(scenario, { policy: referencePolicy() })
  const { reference, name, window } = scenario
  if (designed.compactions === reference.compactions && designed.peakReal === reference.peakReal) equal++
  rows.push(
    `| ${name} | ${window} | ${designed.compactions} | ${run.compactions} | ${designed.peakReal} | ${run.peakReal} | ${run.maxConsecutiveCompactions} | ${run.typedErrors} | ${run.overflows} |`,
  )
}
const lines = [
  '# contextguard: shipped against reference',
  '',
  "Written by `scripts/contextguard-table.ts`. C: compactions; peak: highest real tokens that were sent. Both are measured: reference is the test-only mode with the design's estimator, the facts block",
  `off and its faults left in; in ${equal} of ${scenarios.length} rows it equals the table of the design to the token (\`test/policies/contextguard.test.ts\` holds that). Shipped keeps the open tool step and carries facts, so its peaks differ.`,
  '',
  '| Scenario | window | C reference | C shipped | peak reference | peak shipped | in a row | typed errors | overflows |',
  '|---|--:|--:|--:|--:|--:|--:|--:|--:|',
  ...rows,
]
writeFileSync(new URL('../docs/contextguard-table.md', import.meta.url), `${lines.join('\n')}\n`)
