import { useState } from 'preact/hooks'
import type { LearnedRow, MeterRow, PolicyRow } from '../../../src/dashboard/page-types.ts'
import { get, post, useLoad } from '../api.ts'
import { bytes, clock, tokens } from '../format.ts'
import { type Subscribe, useChanges } from '../live.ts'
import { Action, Card, Problem, Table } from '../parts/basics.tsx'

/** Comparing all calls takes time, so it is not done for every event. */
const EVERY_MS = 2_000

export function Meter({ subscribe }: { subscribe: Subscribe }) {
  const changes = useChanges(() => true, subscribe, EVERY_MS)
  const [own, setOwn] = useState(0)
  const page = useLoad(
    (signal) => get<{ models: MeterRow[]; learned: LearnedRow[] }>('meter', {}, signal),
    [changes, own],
  )
  const value = page.value
  return (
    <>
      <Problem of={page} />
      {value !== undefined && (
        <>
          <Card title="Provider's count compared with our estimate">
            <p class="dim">
              1.00 means that the estimate is right. The estimate is corrected by what was measured before it decides
              anything.
            </p>
            <Table
              label="Models"
              rows={value.models}
              keyOf={({ model }) => model}
              columns={[
                { name: 'model', cell: ({ model }) => model },
                { name: 'calls', isNumber: true, cell: ({ calls }) => tokens(calls) },
                { name: 'middle', isNumber: true, cell: ({ ratio }) => ratio.median.toFixed(2) },
                {
                  name: 'nine of ten calls',
                  isNumber: true,
                  cell: ({ ratio }) => `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
                },
              ]}
            />
          </Card>
          <Card title="Learned windows">
            <Learned rows={value.learned} changed={() => setOwn((before) => before + 1)} />
          </Card>
        </>
      )}
    </>
  )
}

function Learned({ rows, changed }: { rows: readonly LearnedRow[]; changed: () => void }) {
  if (rows.length === 0) return <p>No endpoint has refused a request for its size.</p>
  const forget = async (id: string): Promise<string> => {
    await post('limits/forget', { id })
    changed()
    return ''
  }
  return (
    <Table
      label="Learned windows"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { name: 'endpoint', cell: ({ endpoint }) => endpoint },
        { name: 'model', cell: ({ model }) => model },
        { name: 'window', isNumber: true, cell: ({ window }) => (window === undefined ? '' : tokens(window)) },
        { name: 'body', isNumber: true, cell: ({ bodyBytes }) => (bodyBytes === undefined ? '' : bytes(bodyBytes)) },
        {
          name: 'learned from',
          cell: ({ from, at }) => `${from === 'refusal' ? 'a refusal' : 'silent truncation'}, ${clock(at)}`,
        },
        { name: 'until', cell: ({ until }) => clock(until) },
        { name: '', cell: ({ id }) => <Action name="Forget" run={() => forget(id)} /> },
      ]}
    />
  )
}

/** Every setting and where it comes from. */
export function PolicyPage() {
  const page = useLoad((signal) => get<{ rows: PolicyRow[] }>('policy', {}, signal), [])
  return (
    <Card title="Settings in force">
      <Problem of={page} />
      <Table
        label="Settings"
        rows={page.value?.rows ?? []}
        keyOf={({ name }) => name}
        columns={[
          { name: 'setting', cell: ({ name }) => <code>{name}</code> },
          {
            name: 'value',
            cell: ({ value }) => <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>,
          },
          { name: 'from', cell: ({ from }) => from },
        ]}
      />
    </Card>
  )
}
