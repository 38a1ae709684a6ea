import { grouped, plural, short } from '../inspect/figures.ts'
import { fitEnd, padEnd, padStart } from '../inspect/width.ts'
import { painterOf, type Screen } from '../kit/screen.ts'
import type { ReplayResult } from './replay-recording.ts'
import { dollars, share100 } from './terminal.ts'

const HEAD = [
  'overflows',
  'invalid',
  'lost',
  'refused',
  'epochs',
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
  const names = [...groups.keys()]
  const nameWidth = Math.max(6, ...names.map((name) => name.length))
  const rows = [...groups].map(([name, group]) => [name, ...cellsOf(group)])
  // A narrow terminal gets one block of lines per row instead of a table that breaks.
  const tableWidth = nameWidth + HEAD.reduce((sum, head) => sum + Math.max(9, head.length + 1), 0)
  const files = new Set(results.map(({ file }) => file)).size
  const calls = results.reduce((sum, result) => sum + result.calls, 0) / Math.max(1, names.length)
  const title = `${plural(files, 'session')}, ${grouped(calls)} calls`
  const lines =
    tableWidth <= screen.width
      ? [
          paint(
            'dim',
            padEnd('', nameWidth) + HEAD.map((head) => padStart(head, Math.max(9, head.length + 1))).join(''),
          ),
          ...rows.map(
            ([name = '', ...cells]) =>
              padEnd(name, nameWidth) +
              cells.map((cell, column) => padStart(cell, Math.max(9, (HEAD[column] ?? '').length + 1))).join(''),
          ),
        ]
      : rows.flatMap(([name = '', ...cells]) => [
          paint('bold', fitEnd(name, screen.width)),
          ...cells.map((cell, column) => `  ${padEnd(HEAD[column] ?? '', 12)}${cell}`),
        ])
  return `${[paint('bold', title), ...lines].join('\n')}\n`
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
