import { useMemo } from 'preact/hooks'
import type { PageCall } from '../../../../src/dashboard/page-types.ts'
import { stackedParts } from '../../../../src/dashboard/stacked-parts.ts'
import { short } from '../../format.ts'
import { Card } from '../../parts/basics.tsx'
import { Chart, type Line } from '../../parts/chart.tsx'

const PALETTE = ['--part1', '--part2', '--part3', '--part4', '--part5', '--part6', '--part7', '--part8']

/** What the prompts are made of, stacked. The largest parts have a name of their own. */
export function Composition({ calls }: { calls: readonly PageCall[] }) {
  const parts = useMemo(() => stackedParts(calls, PALETTE.length), [calls])
  if (parts.length === 0) return null
  const colourOf = (index: number): string => PALETTE[index % PALETTE.length]!
  const lines: Line[] = parts.map(({ name, tops }, index) => ({
    name,
    values: tops,
    colour: colourOf(index),
    isLayer: true,
  }))
  return (
    <Card title="What the prompts are made of">
      <Chart
        x={calls.map(({ number }) => number)}
        lines={lines.toReversed()}
        label={`Parts of the prompt: ${parts.map(({ name }) => name).join(', ')}`}
        height={220}
      />
      <ul class="parts">
        {parts.map(({ name, last }, index) => (
          <li>
            <i style={{ background: `var(${colourOf(index)})` }} />
            {name} <b>{short(last)}</b>
          </li>
        ))}
      </ul>
    </Card>
  )
}
