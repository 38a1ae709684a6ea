import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { policyNamed } from '../../engine/presets/index.ts'
import { scenarios, simulate, type SimulationResult } from '../../lab/simulator/simulate.ts'
import { EXIT, printTable, progressOn, screenOf } from '../kit/output.ts'
import { grouped, plural } from '../kit/figures.ts'
import { withExamples } from '../kit/examples.ts'

interface SimulateFlags {
  readonly policy: string
  readonly list?: boolean
  readonly check?: boolean
  readonly json?: boolean
}

export function simulateCommand(): Command {
  return withExamples(
    new Command('simulate')
      .argument('[words...]', 'scenarios whose name contains these words (default: all)')
      .option('--policy <name>', 'policy to apply', 'plimsoll')
      .option('--list', 'only list the scenarios')
      .option('--check', `exit with ${EXIT.broken} if a request overflowed or was invalid, or something was lost`)
      .option('--json', 'print one JSON object per line, for each scenario'),
    'plimsoll simulate --list',
    'plimsoll simulate small --json',
  ).action(runSimulate)
}

async function runSimulate(words: string[], flags: SimulateFlags): Promise<void> {
  policyNamed(flags.policy)
  const wanted = scenarios.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word.toLowerCase())))
  if (wanted.length === 0)
    throw new PlimsollError('not-found', `No scenario matches ${JSON.stringify(words.join(' '))}.`, {
      advice: 'plimsoll simulate --list names them all.',
    })
  if (flags.list === true) {
    for (const { name, window, turns } of wanted)
      process.stdout.write(flags.json === true ? `${JSON.stringify({ scenario: name, window, turns })}\n` : `${name}\n`)
    return
  }
  const progress = progressOn(process.stderr, screenOf(process.stderr))
  const results: SimulationResult[] = []
  for (const [done, scenario] of wanted.entries()) {
    progress.show(done, wanted.length, scenario.name)
    const result = await simulate(scenario, { policy: flags.policy })
    results.push(result)
    if (flags.json !== true) continue
    progress.clear()
    process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  progress.clear()
  if (flags.json !== true) process.stdout.write(render(results))
  if (flags.check === true && results.some(({ overflows, invalid, lost }) => overflows + invalid + lost > 0))
    process.exitCode = EXIT.broken
}

function render(results: readonly SimulationResult[]): string {
  const table = printTable(
    [
      { head: 'scenario', keeps: 'start' },
      { head: 'steps', align: 'right' },
      { head: 'overflows', align: 'right' },
      { head: 'invalid', align: 'right' },
      { head: 'lost', align: 'right' },
      { head: 'refused', align: 'right' },
      { head: 'compactions', align: 'right' },
      { head: 'peak', align: 'right' },
      { head: 'window', align: 'right' },
    ],
    results.map(({ scenario, steps, overflows, invalid, lost, typedErrors, compactions, peakReal, window }) => [
      scenario,
      ...[steps, overflows, invalid, lost, typedErrors, compactions, peakReal, window].map(grouped),
    ]),
  )
  const sum = (field: 'overflows' | 'invalid' | 'lost' | 'typedErrors'): number =>
    results.reduce((total, one) => total + one[field], 0)
  return (
    `${table}${plural(results.length, 'scenario')}: ${sum('overflows')} overflows, ${sum('invalid')} invalid, ${sum('lost')} lost, ` +
    `${sum('typedErrors')} refused (steps that ended in a typed error, before anything was sent)\n`
  )
}
