import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { policies } from '../src/engine/presets/index.ts'
import { scenarios, simulate, type SimulationResult } from '../src/lab/simulator/simulate.ts'

// Writes bench/figures/presets-simulated.md: every scenario under every preset. Usage: npx tsx scripts/presets-simulated.ts [log.jsonl]
// With a log, each result is kept as it comes and a later run goes on where this one stopped.
const log = process.argv[2]
const done = new Map<string, SimulationResult>()
const keyOf = (policy: string, scenario: string): string => `${policy} ${scenario}`
if (log !== undefined && existsSync(log))
  for (const line of readFileSync(log, 'utf8').split('\n').filter(Boolean)) {
    const result = JSON.parse(line) as SimulationResult
    done.set(keyOf(result.policy, result.scenario), result)
  }
for (const scenario of scenarios)
  for (const policy of policies.keys()) {
    if (done.has(keyOf(policy, scenario.name))) continue
    const result = await simulate(scenario, { policy })
    done.set(keyOf(policy, scenario.name), result)
    if (log !== undefined) appendFileSync(log, `${JSON.stringify(result)}\n`)
  }

// In the order of the presets, whatever the log's.
const all = [...policies.keys()].flatMap((name) => [...done.values()].filter(({ policy }) => policy === name))
const count = (value: number): string => value.toLocaleString('en')
const totals = [...policies.keys()].map((policy) => {
  const own = all.filter((result) => result.policy === policy)
  const sum = (field: 'steps' | 'overflows' | 'invalid' | 'lost' | 'typedErrors' | 'compactions'): number =>
    own.reduce((total, result) => total + result[field], 0)
  const inARow = Math.max(...own.map(({ maxConsecutiveCompactions }) => maxConsecutiveCompactions))
  const cells = [own.length, sum('steps'), sum('overflows'), sum('invalid'), sum('lost'), sum('typedErrors')]
  return `| \`${policy}\` | ${[...cells, sum('compactions'), inARow].map(count).join(' | ')} |`
})
const trouble = scenarios.flatMap(({ name }) => {
  const rows = all.filter(({ scenario, overflows, typedErrors }) => scenario === name && overflows + typedErrors > 0)
  if (rows.length === 0) return []
  const told = rows.map(({ policy, steps, overflows, typedErrors }) => {
    const parts = [
      ...(overflows > 0 ? [`${overflows} overflows`] : []),
      ...(typedErrors > 0 ? [`${typedErrors} typed errors`] : []),
    ]
    return `\`${policy}\` ${parts.join(', ')} of ${steps}`
  })
  return [`| ${name} | ${told.join('; ')} |`]
})
const lines = [
  '# Presets on the simulated scenarios',
  '',
  'Written by `scripts/presets-simulated.ts`; the same figures as `plimsoll simulate --policy <name> --json`. The provider is one that no catalogue knows: it counts 1.5 to 5 times the',
  'bytes / 4, holds its window, and tells its count late or never in some rows. A typed error is a step that ended in an error with numbers instead of a request; an overflow is one',
  'that the provider refused for its size. `ai-agent` has no compaction: once the window is full it asks for a closing report, and these scripts go on all the same; its own estimate',
  'decides when, and our bound decides what may leave ([why](../../docs/policies.md#whose-count-decides)). The other typed errors are steps in which instructions and tools alone are above what the policy may fill of the window.',
  'Where contextguard would continue with summary and continuation, its presets do.',
  '',
  '| Policy | scenarios | steps | overflows | invalid | lost | typed errors | compactions | most in a row |',
  `|---|${'--:|'.repeat(8)}`,
  ...totals,
  '',
  'Rows with an overflow or a typed error:',
  '',
  '| Scenario | |',
  '|---|---|',
  ...trouble,
]
writeFileSync(new URL('../bench/figures/presets-simulated.md', import.meta.url), `${lines.join('\n')}\n`)
process.exitCode = all.some(({ invalid, lost }) => invalid + lost > 0) ? 1 : 0
