import { useMemo, useState } from 'preact/hooks'
import type { CacheMiss } from '../../../../src/core/cache.ts'
import type { CallRows, Series, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { type StackedPart, stackedParts } from '../../../../src/dashboard/stacked-parts.ts'
import type { CallRow } from '../../../../src/meter/session/figures.ts'
import { tokensText } from '../../../../src/meter/session/words.ts'
import { get, useLoad } from '../../api.ts'
import { clock, dollars, plural, short, tokens } from '../../format.ts'
import { Card, Pages, Problem, Table } from '../../parts/basics.tsx'
import { Chart, type Line, type Mark } from '../../parts/chart.tsx'
import { kindText } from '../../../../src/meter/session/grid.ts'
import { colourVariable } from '../../parts/grid.tsx'
import { linkTo } from '../../route.ts'

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
    ...line('without Plimsoll', '--original', whole, { isDashed: true }),
    ...line('sent', '--sent', sent, { isFilled: true }),
    ...line('from the cache', '--cached', cached, {}),
    ...line(limit?.name ?? '', '--limit', limit?.values, { isStepped: true }),
    ...line('compaction starts', '--threshold', thresholds?.high, { isStepped: true, isDashed: true }),
    ...line('compaction aims at', '--threshold', thresholds?.low, { isStepped: true, isDotted: true }),
  ]
}

interface LoadProps {
  readonly page: SessionPage
  readonly series: Series
  /** Tools in the order of their colours. */
  readonly tools: readonly string[]
  readonly at: number
  readonly go: (at: number) => void
}

/** The chart ends a little above the window; what would have been sent without Plimsoll may be many times as much. */
const ABOVE_WINDOW = 1.15

/** The prompts by call, with the limit and the thresholds. */
export function Load({ page, series, tools, at, go }: LoadProps) {
  const { tenant, session, agents } = page
  const marksOf = (agent?: string): readonly Mark[] =>
    page.compactionList
      .filter((each) => !each.undone && (agent === undefined || each.agent === agent))
      .map(({ id, beforeCall, forced }) => ({
        at: beforeCall,
        isForced: forced,
        link: linkTo('session', { tenant, session, tab: 'compactions', epoch: id }),
      }))
  const marks = useMemo(() => marksOf(), [page])
  const lines = useMemo(() => linesOf(series), [series])
  const parts = useMemo(
    () =>
      stackedParts(
        series.calls.map((_, place) => ({ parts: partsAt(series, place) })),
        COLOURS,
      ),
    [series],
  )
  const top = topOf(series)
  return (
    <>
      <Card title="Tokens per call">
        <Chart x={series.calls} lines={lines} marks={marks} label={describe(page)} top={top} at={at} go={go} />
      </Card>
      {agents.length > 1 && (
        <Card title="By agent">
          <div class="small-charts">
            {agents.map((agent, index) => {
              const own = only(series, index)
              return (
                <section>
                  <h3>{agent}</h3>
                  <Chart
                    x={own.calls}
                    lines={linesOf(own).filter(({ name }) => name === 'sent' || name === 'limit')}
                    marks={marksOf(agent)}
                    label={`${agent}: ${plural(own.calls.length, 'call')}`}
                    top={topOf(own)}
                    height={120}
                  />
                </section>
              )
            })}
          </div>
        </Card>
      )}
      {parts.length > 0 && (
        <Card title="What the prompts are made of">
          <Composition x={series.calls} parts={parts} tools={tools} />
        </Card>
      )}
      <Misses series={series} />
    </>
  )
}

const topOf = ({ window, sent }: Series): number | undefined => {
  const largest = window.reduce<number>((most, one) => Math.max(most, one ?? 0), 0)
  return largest === 0 ? undefined : Math.max(ABOVE_WINDOW * largest, ...sent.slice(-1))
}

const linesOf = ({ whole, sent, cached, limit, high, low }: Series): Line[] =>
  loadLines({ whole, sent, cached, limit: { name: 'limit', values: limit }, thresholds: { high, low } })

/** What cache misses cost, by cause. */
function Misses({ series: { missed } }: { series: Series }) {
  const sums = new Map<string, { usd: number; calls: number }>()
  for (const each of missed) {
    if (each === null) continue
    const [usd, cause] = each
    const before = sums.get(cause) ?? { usd: 0, calls: 0 }
    sums.set(cause, { usd: before.usd + usd, calls: before.calls + 1 })
  }
  const rows = [...sums].sort(([, a], [, b]) => b.usd - a.usd)
  const most = rows[0]?.[1].usd ?? 0
  if (most === 0) return null
  return (
    <Card title="Not read from the cache">
      <dl class="kinds">
        {rows.map(([cause, { usd, calls }]) => (
          <div>
            <dt>{CAUSES[cause] ?? cause}</dt>
            <dd>
              <div class="share">
                <i style={{ width: `${(100 * usd) / most}%` }} />
              </div>
              <b />
              <span>{plural(calls, 'call')}</span>
              <span>{dollars(usd, 4)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

const CAUSES: Readonly<Record<string, string>> = {
  ours: 'a compaction',
  client: 'the client changed it',
  expiry: 'expired',
  provider: 'the provider',
  'too-short': 'too short to cache',
}

/** The calls of one agent; all where it is none. */
function only(series: Series, agent: number): Series {
  if (agent < 0) return series
  const keep = <T,>(column: readonly T[]): T[] => column.filter((_, at) => series.agents[at] === agent)
  const columns = Object.entries(series).map(([name, column]) => [
    name,
    Array.isArray(column)
      ? keep(column)
      : Object.fromEntries(Object.entries(series.parts).map(([part, sizes]) => [part, keep(sizes)])),
  ])
  return Object.fromEntries(columns) as Series
}

const partsAt = ({ parts }: Series, at: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(parts).map(([name, sizes]) => [name, sizes[at] ?? 0]))

function describe({ calls, peak, withoutPlimsoll, compactions }: SessionPage): string {
  return `${plural(calls, 'call')}. Largest prompt ${tokensText(peak)} tokens; without Plimsoll it would have been ${tokensText(withoutPlimsoll)}. ${plural(compactions, 'compaction')}.`
}

interface CompositionProps {
  readonly x: readonly number[]
  readonly parts: readonly StackedPart[]
  /** Tools in the order of their colours. @default that of the parts */
  readonly tools?: readonly string[]
}

/** The parts of the prompts, stacked. Only the largest parts have their own colour and name. */
export function Composition({
  x,
  parts,
  tools = parts.flatMap(({ name }) => (name.startsWith('results') ? [name] : [])),
}: CompositionProps) {
  const lines = useMemo(
    () =>
      parts
        .map(({ name, tops }, index): Line => {
          const below = parts[index - 1]?.tops
          const own = tops.map((top, at) => top - (below?.[at] ?? 0))
          return { name: kindText(name), values: tops, colour: colourVariable(name, tools), isLayer: true, own }
        })
        .toReversed(),
    [parts, tools],
  )
  const label = parts.map(({ name, last }) => `${name} ${short(last)}`).join(', ')
  return (
    <Chart
      x={x}
      lines={lines}
      label={`Parts of the prompts, with their tokens in the last call: ${label}`}
      height={220}
    />
  )
}

/** More would not be told apart. */
const COLOURS = 10

export function Calls({ page: { tenant, session, version } }: { page: SessionPage }) {
  const [from, setFrom] = useState(0)
  const loaded = useLoad(
    (signal) => get<CallRows>('calls', { tenant, session, from }, signal),
    [from, version],
    session,
  )
  const value = loaded.value
  return (
    <Card title={value === undefined ? 'Calls' : plural(value.total, 'call')}>
      <Problem of={loaded} />
      {value !== undefined && (
        <>
          <CallTable calls={value.rows} />
          <Pages of={value} go={setFrom} />
        </>
      )}
    </Card>
  )
}

/** What was not read from the cache, and why. */
function Missed({ miss }: { miss: CacheMiss | undefined }) {
  if (miss === undefined) return null
  const { cause, tokens: size, usd, path, before = '', after = '' } = miss
  const change = path === undefined ? '' : `${path}: ${before} → ${after}`
  return (
    <span title={change}>
      {tokens(size)} {cause}
      {usd === undefined ? '' : `, ${dollars(usd)}`}
    </span>
  )
}

const CallTable = ({ calls }: { calls: readonly CallRow[] }) => (
  <Table
    label="Calls"
    rows={calls}
    keyOf={({ number }) => String(number)}
    columns={[
      { name: 'call', isNumber: true, cell: ({ number }) => number },
      { name: 'when', cell: ({ at }) => clock(at) },
      { name: 'purpose', cell: ({ purpose, agent }) => (purpose === 'turn' ? agent : purpose) },
      { name: 'model', cell: ({ model }) => model },
      { name: 'sent', isNumber: true, cell: ({ sent, isMeasured }) => `${isMeasured ? '' : '≈ '}${tokens(sent)}` },
      {
        name: 'without Plimsoll',
        isNumber: true,
        cell: ({ whole, sent, isMeasured }) => `${isMeasured && whole === sent ? '' : '≈ '}${tokens(whole)}`,
      },
      { name: 'limit', isNumber: true, cell: ({ limit }) => (limit === undefined ? '' : tokens(limit)) },
      { name: 'cached', isNumber: true, cell: ({ usage }) => (usage === undefined ? '' : tokens(usage.cacheRead)) },
      { name: 'missed', cell: ({ cache }) => <Missed miss={cache?.miss} /> },
      { name: 'answer', isNumber: true, cell: ({ usage }) => (usage === undefined ? '' : tokens(usage.output)) },
      {
        name: 'cost',
        isNumber: true,
        cell: ({ costUsd }) => (costUsd === undefined ? 'unknown' : dollars(costUsd, 4)),
      },
    ]}
  />
)
