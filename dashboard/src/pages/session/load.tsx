import { useMemo, useState } from 'preact/hooks'
import type { PageCall, PageCompaction, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { type StackedPart, stackedParts } from '../../../../src/dashboard/stacked-parts.ts'
import { clock, dollars, short, tokens } from '../../format.ts'
import { AgentChoice, Card, Table } from '../../parts/basics.tsx'
import { Chart, type Line } from '../../parts/chart.tsx'

type Values = readonly (number | null)[]

interface LoadValues {
  readonly sent: Values
  /** The prompts without any compaction. */
  readonly whole?: Values
  readonly cached?: Values
  readonly limit?: { readonly name: string; readonly values: Values }
  /** Where compaction starts and what it aims at. */
  readonly thresholds?: { readonly high: Values; readonly low: Values }
}

/** The lines of a prompt chart, in drawing order. */
export function loadLines({ sent, whole, cached, limit, thresholds }: LoadValues): Line[] {
  const line = (name: string, colour: string, values: Values | undefined, look: Partial<Line>): Line[] =>
    values === undefined || values.every((value) => value === null) ? [] : [{ name, colour, values, ...look }]
  return [
    ...line('without compaction', '--original', whole, { isDashed: true }),
    ...line('sent', '--sent', sent, { isFilled: true }),
    ...line('from the cache', '--cached', cached, {}),
    ...line(limit?.name ?? '', '--limit', limit?.values, { isStepped: true }),
    ...line('compaction starts', '--threshold', thresholds?.high, { isStepped: true, isDashed: true }),
    ...line('compaction aims at', '--threshold', thresholds?.low, { isStepped: true, isDotted: true }),
  ]
}

/** The prompts by call, with the limit and the thresholds. */
export function Load({ page }: { page: SessionPage }) {
  const turns = useMemo(() => page.callList.filter(({ purpose }) => purpose === 'turn'), [page])
  const [agent, setAgent] = useState('')
  const shown = agent === '' ? turns : turns.filter((call) => call.agent === agent)
  const x = shown.map(({ number }) => number)
  const parts = useMemo(() => stackedParts(shown, COLOURS), [turns, agent])
  const lines = loadLines({
    whole: shown.map(({ original }) => original),
    sent: shown.map(({ prompt }) => prompt),
    cached: shown.map(({ usage }) => usage?.cacheRead ?? null),
    limit: { name: 'limit', values: shown.map(({ limit }) => limit ?? null) },
    thresholds: {
      high: shown.map(({ thresholds }) => thresholds?.high ?? null),
      low: shown.map(({ thresholds }) => thresholds?.low ?? null),
    },
  })
  const marks = page.compactionList
    .filter((each) => !each.undone && (agent === '' || each.agent === agent))
    .map((each) => ({ at: each.beforeCall, colour: each.forced ? '--limit' : '--mark' }))
  return (
    <>
      <Card
        title="Tokens per call"
        actions={<AgentChoice agents={page.agents} all="all agents" value={agent} set={setAgent} />}
      >
        <Chart x={x} lines={lines} marks={marks} label={describe(shown, page.compactionList)} />
        <p class="dim">Vertical lines are compactions; red ones were forced. Click a name to hide its line.</p>
      </Card>
      {parts.length > 0 && (
        <Card title="What the prompts are made of">
          <Composition x={x} parts={parts} />
        </Card>
      )}
      <details class="card">
        <summary>The same as a table</summary>
        <CallTable calls={shown} />
      </details>
    </>
  )
}

function describe(calls: readonly PageCall[], compactions: readonly PageCompaction[]): string {
  const peak = Math.max(0, ...calls.map(({ prompt }) => prompt))
  const whole = Math.max(0, ...calls.map(({ original }) => original))
  return `${calls.length} calls. Largest prompt ${tokens(peak)} tokens; without compaction it would have been ${tokens(whole)}. ${compactions.length} compactions.`
}

/** The parts of the prompts, stacked. Only the largest parts have their own colour and name. */
export function Composition({ x, parts }: { x: readonly number[]; parts: readonly StackedPart[] }) {
  const lines = parts.map(({ name, tops }, index): Line => {
    return { name, values: tops, colour: partColour(index), isLayer: true }
  })
  const label = parts.map(({ name, last }) => `${name} ${short(last)}`).join(', ')
  return (
    <>
      <Chart
        x={x}
        lines={lines.toReversed()}
        label={`Parts of the prompts, with their tokens in the last call: ${label}`}
        height={220}
      />
      <ul class="parts">
        {parts.map(({ name, last }, index) => (
          <li>
            <i style={{ background: `var(${partColour(index)})` }} />
            {name} <b>{short(last)}</b>
          </li>
        ))}
      </ul>
    </>
  )
}

/** The number of colours in the style sheet. */
const COLOURS = 8
const partColour = (index: number): string => `--part${1 + (index % COLOURS)}`

export function Calls({ page }: { page: SessionPage }) {
  return (
    <Card title={`${tokens(page.calls)} calls`}>
      <CallTable calls={page.callList.toReversed()} />
    </Card>
  )
}

const CALLS_SHOWN = 300

function CallTable({ calls }: { calls: readonly PageCall[] }) {
  const [most, setMost] = useState(CALLS_SHOWN)
  return (
    <>
      <Table
        label="Calls"
        rows={calls.slice(0, most)}
        keyOf={({ number }) => String(number)}
        columns={[
          { name: 'call', isNumber: true, cell: ({ number }) => number },
          { name: 'when', cell: ({ at }) => clock(at) },
          { name: 'purpose', cell: ({ purpose, agent }) => (purpose === 'turn' ? agent : purpose) },
          { name: 'model', cell: ({ model }) => model },
          {
            name: 'sent',
            isNumber: true,
            cell: ({ prompt, isMeasured }) => `${isMeasured ? '' : '≈ '}${tokens(prompt)}`,
          },
          { name: 'without compaction', isNumber: true, cell: ({ original }) => tokens(original) },
          { name: 'limit', isNumber: true, cell: ({ limit }) => (limit === undefined ? '' : tokens(limit)) },
          { name: 'cached', isNumber: true, cell: ({ usage }) => (usage === undefined ? '' : tokens(usage.cacheRead)) },
          { name: 'answer', isNumber: true, cell: ({ usage }) => (usage === undefined ? '' : tokens(usage.output)) },
          { name: 'cost', isNumber: true, cell: ({ costUsd }) => (costUsd === undefined ? '' : dollars(costUsd)) },
        ]}
      />
      {calls.length > most && (
        <button class="link" onClick={() => setMost(most + CALLS_SHOWN)}>
          Show more of {tokens(calls.length)}
        </button>
      )}
    </>
  )
}
