import { useMemo, useState } from 'preact/hooks'
import type { PageCall, PageCompaction, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { tokens } from '../../format.ts'
import { Card } from '../../parts/basics.tsx'
import { Chart, type Line } from '../../parts/chart.tsx'
import { CallTable } from './calls.tsx'
import { Composition } from './composition.tsx'

/** The prompts over the calls, against the limit and the thresholds. */
export function Load({ page }: { page: SessionPage }) {
  const turns = useMemo(() => page.callList.filter(({ purpose }) => purpose === 'turn'), [page])
  const [agent, setAgent] = useState('')
  const shown = agent === '' ? turns : turns.filter((call) => call.agent === agent)
  const x = shown.map(({ number }) => number)
  const lines: Line[] = [
    { name: 'without compaction', values: shown.map(({ original }) => original), colour: '--original', isDashed: true },
    { name: 'sent', values: shown.map(({ prompt }) => prompt), colour: '--sent', isFilled: true },
    { name: 'from the cache', values: shown.map(({ usage }) => usage?.cacheRead ?? null), colour: '--cached' },
    { name: 'limit', values: shown.map(({ limit }) => limit ?? null), colour: '--limit', isStepped: true },
    ...(shown.some(({ thresholds }) => thresholds !== undefined)
      ? [
          {
            name: 'compaction starts',
            values: shown.map(({ thresholds }) => thresholds?.high ?? null),
            colour: '--threshold',
            isStepped: true,
            isDashed: true,
          },
          {
            name: 'compaction aims at',
            values: shown.map(({ thresholds }) => thresholds?.low ?? null),
            colour: '--threshold',
            isStepped: true,
            isDotted: true,
          },
        ]
      : []),
  ]
  const marks = page.compactionList
    .filter((each) => !each.undone && (agent === '' || each.agent === agent))
    .map((each) => ({ at: each.beforeCall, colour: each.forced ? '--limit' : '--mark' }))
  return (
    <>
      <Card
        title="Tokens per call"
        actions={page.agents.length > 1 && <AgentChoice page={page} value={agent} set={setAgent} />}
      >
        <Chart x={x} lines={lines} marks={marks} label={describe(shown, page.compactionList)} />
        <p class="dim">Vertical lines are compactions; red ones were forced. Click a name to hide its line.</p>
      </Card>
      <Composition calls={shown} />
      <details class="card">
        <summary>The same as a table</summary>
        <CallTable calls={shown} />
      </details>
    </>
  )
}

function AgentChoice({ page, value, set }: { page: SessionPage; value: string; set: (agent: string) => void }) {
  return (
    <select aria-label="Agent" value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">all agents</option>
      {page.agents.map((name) => (
        <option value={name}>{name}</option>
      ))}
    </select>
  )
}

function describe(calls: readonly PageCall[], compactions: readonly PageCompaction[]): string {
  const peak = Math.max(0, ...calls.map(({ prompt }) => prompt))
  const whole = Math.max(0, ...calls.map(({ original }) => original))
  return `${calls.length} calls. Largest prompt ${tokens(peak)} tokens; without compaction it would have been ${tokens(whole)}. ${compactions.length} compactions.`
}
