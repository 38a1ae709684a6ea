/**
 * The default policy with each of its steps and numbers changed, one at a time, on the sessions of the benchmark.
 *
 *   npx tsx bench/ablation.ts [--windows 32k]
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Policy } from '../src/core/policy.ts'
import { policyNamed } from '../src/engine/presets/index.ts'
import { tokenCounts } from '../src/cli/option-values.ts'
import { engine } from './compare/engine.ts'
import { measure } from './compare/measure.ts'
import { sessionsIn } from './compare/sessions.ts'

const { values } = parseArgs({ options: { windows: { type: 'string', default: '32k' } } })
const standard = policyNamed('plimsoll')

const fold = (change: object): Policy['cascade'] =>
  standard.cascade.map((step) => (step.step === 'fold' ? { ...step, ...change } : step)) as Policy['cascade']
const water = (change: Partial<Policy['water']>): Policy => ({ ...standard, water: { ...standard.water, ...change } })
const intake = (change: Partial<Policy['intake']>): Policy => ({
  ...standard,
  intake: { ...standard.intake, ...change },
})

const VARIANTS: readonly (readonly [name: string, policy: Policy])[] = [
  ['as shipped', standard],
  ['without fold', { ...standard, cascade: standard.cascade.filter(({ step }) => step !== 'fold') }],
  ['without squeeze', { ...standard, cascade: standard.cascade.filter(({ step }) => step !== 'squeeze') }],
  ['without the price gate', { ...standard, priceGate: false }],
  ['high 90 %', water({ high: 0.9 })],
  ['high 80 %', water({ high: 0.8 })],
  ['low 50 %', water({ low: 0.5 })],
  ['low 80 %', water({ low: 0.8 })],
  ['tail 5 %', { ...standard, cascade: fold({ tailShare: 0.05 }) }],
  ['tail 30 %', { ...standard, cascade: fold({ tailShare: 0.3 }) }],
  ['record 30 %', { ...standard, cascade: fold({ summaryShare: 0.3 }) }],
  ['record 70 %', { ...standard, cascade: fold({ summaryShare: 0.7 }) }],
  ['results whole up to 10 %', intake({ maxShare: 0.1 })],
  ['results whole up to 50 %', intake({ maxShare: 0.5 })],
]

const folder = join(import.meta.dirname, 'sessions')
const files = readdirSync(folder).filter((name) => name.endsWith('.gz'))
const sessions = await sessionsIn(files.sort().map((name) => join(folder, name)))
const percent = (value: number): string => `${(100 * value).toFixed(1)} %`
for (const window of tokenCounts(values.windows)) {
  console.log(`\n| ${window / 1000}k | too long | refused | prose in view | quotes in view | names in view | price |`)
  console.log('|---|---|---|---|---|---|---|')
  for (const [name, policy] of VARIANTS) {
    const figures = await measure(engine(policy, name, ''), sessions, window, { usd: 0 })
    const { overflows, refused, proseKept, quoteRecall, nameRecall, costUsd } = figures
    const shares = [proseKept, quoteRecall, nameRecall].map(percent)
    console.log(`| ${[name, overflows, refused, ...shares, `$${costUsd.toFixed(2)}`].join(' | ')} |`)
  }
}
