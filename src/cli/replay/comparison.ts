import { dollars, grouped, plural, short } from '../inspect/figures.ts'
import { displayWidth, fitEnd, padEnd, padStart } from '../inspect/width.ts'
import { painterOf, type Screen } from '../kit/output.ts'
import type { ReplayResult } from './replay-recording.ts'
import { share100 } from './terminal.ts'

const HEAD = [
  'overflows',
  'invalid',
  'lost',
  'refused',
  'compactions',
  'quotes',
  'names',
  'recoverable',
  'price',
  'unmanaged',
  'cached',
]

/** One row per policy and window, over all files. Recalls are means over the calls. */
export function renderComparison(results: readonly ReplayResult[], screen: Pick<Screen, 'width' | 'colour'>): string {
  const paint = painterOf(screen)
  const groups = grouping(results)
  const files = new Set(results.map(({ file }) => file)).size
  const calls = results.reduce((sum, result) => sum + result.calls, 0) / Math.max(1, groups.size)
  const title = paint('bold', `${plural(files, 'session')}, ${grouped(calls)} calls`)
  const rows = [...groups].map(([name, group]) => [name, ...cellsOf(group)])
  const table = [['', ...HEAD], ...rows]
  const turned = ['', ...HEAD].map((_, column) => table.map((row) => row[column] ?? ''))
  // Where the measures do not fit side by side the policies may; else each policy has lines of its own.
  const [heads, ...figures] = aligned(table, screen.width) ?? aligned(turned, screen.width) ?? []
  const lines =
    heads === undefined
      ? rows.flatMap(([name = '', ...cells]) => [
          paint('bold', fitEnd(name, screen.width)),
          ...cells.map((cell, column) => `  ${padEnd(HEAD[column] ?? '', 12)}${cell}`),
        ])
      : [paint('dim', heads), ...figures]
  return `${[title, ...lines].join('\n')}\n`
}

/** Names to the left, figures to the right; undefined when that is too wide. */
function aligned(table: readonly (readonly string[])[], width: number): readonly string[] | undefined {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ''))))
  if (widths.reduce((sum, one) => sum + one + 2, -2) > width) return undefined
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? padEnd : padStart)(cell, widths[column] ?? 0)).join('  '),
  )
}

const keyOf = ({ policy, window }: ReplayResult): string => `${policy} ${short(window)}`

function grouping(results: readonly ReplayResult[]): Map<string, ReplayResult[]> {
  const groups = new Map<string, ReplayResult[]>()
  for (const result of results) groups.set(keyOf(result), [...(groups.get(keyOf(result)) ?? []), result])
  return groups
}

function cellsOf(group: readonly ReplayResult[]): readonly string[] {
  const sum = (pick: (result: ReplayResult) => number): number => group.reduce((total, one) => total + pick(one), 0)
  const calls = Math.max(
    1,
    sum((one) => one.calls),
  )
  const mean = (pick: (result: ReplayResult) => number): string => share100(sum((one) => pick(one) * one.calls) / calls)
  return [
    grouped(sum((one) => one.overflows)),
    grouped(sum((one) => one.invalid)),
    grouped(sum((one) => one.lost)),
    grouped(sum((one) => one.refused)),
    grouped(sum((one) => one.epochs)),
    mean((one) => one.quoteRecall),
    mean((one) => one.nameRecall),
    mean((one) => one.recoverableRecall),
    dollars(sum((one) => one.costUsd)),
    dollars(sum((one) => one.unmanagedCostUsd)),
    mean((one) => one.cacheHitRate),
  ]
}
