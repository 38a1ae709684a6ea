import { useState } from 'preact/hooks'
import type { DashboardInfo, SessionRow } from '../../../src/dashboard/page-types.ts'
import { get, post, useLoad } from '../api.ts'
import { dollars, tokens } from '../format.ts'
import { Card, Table } from '../parts/basics.tsx'
import { Chart } from '../parts/chart.tsx'

interface Side {
  readonly policy: string
  readonly window: number
  readonly loads: readonly number[]
  readonly limit: number
  readonly compactedBefore: readonly number[]
  readonly figures: Readonly<Record<string, number>>
}

const POLICIES = ['plimsoll', 'autosre', 'cyber-autoagent', 'contextguard', 'adk-code', 'ai-agent']

/** A recorded session under two policies or windows. */
export function Compare({ info, query }: { info: DashboardInfo; query: Readonly<Record<string, string>> }) {
  const list = useLoad((signal) => get<{ rows: SessionRow[] }>('sessions', {}, signal), [])
  const rows = list.value?.rows ?? []
  const [session, setSession] = useState(query['session'] ?? '')
  const [a, setA] = useState({ policy: 'plimsoll', window: 64_000 })
  const [b, setB] = useState({ policy: 'plimsoll', window: 32_000 })
  const [sides, setSides] = useState<readonly Side[]>([])
  const [said, setSaid] = useState('')
  const [busy, setBusy] = useState(false)
  if (info.source !== 'files')
    return (
      <Card title="Compare">
        <p>
          Recorded sessions can be replayed under two policies or windows side by side. Open files for that:{' '}
          <code>plimsoll dashboard session.jsonl</code>
        </p>
      </Card>
    )
  const chosen = rows.find((row) => row.session === session) ?? rows[0]
  const run = async (): Promise<void> => {
    if (chosen === undefined) return
    setBusy(true)
    setSaid('')
    const { tenant, session: name } = chosen
    await post<{ sides: Side[] }>('compare', { tenant, session: name, sides: [a, b] }).then(
      (answer) => setSides(answer.sides),
      (error: Error) => setSaid(error.message),
    )
    setBusy(false)
  }
  return (
    <>
      <Card title="Replay a session twice">
        <form
          class="toolbar"
          onSubmit={(event) => {
            event.preventDefault()
            void run()
          }}
        >
          <label>
            session
            <select value={chosen?.session} onChange={(event) => setSession(event.currentTarget.value)}>
              {rows.map((row) => (
                <option value={row.session}>{row.session}</option>
              ))}
            </select>
          </label>
          <Choice name="first" value={a} set={setA} />
          <Choice name="second" value={b} set={setB} />
          <button disabled={busy}>{busy ? 'Replaying …' : 'Compare'}</button>
          <span role="status">{said}</span>
        </form>
      </Card>
      {sides.length > 0 && (
        <Card title="Measures">
          <Table
            label="Measures"
            rows={Object.keys(sides[0]!.figures)}
            keyOf={(name) => name}
            columns={[
              { name: '', cell: (name) => name },
              ...sides.map((side) => ({
                name: `${side.policy} ${tokens(side.window)}`,
                isNumber: true,
                cell: (name: string) => figure(name, side.figures[name]),
              })),
            ]}
          />
        </Card>
      )}
      {sides.map((side) => (
        <Card title={`${side.policy}, window ${tokens(side.window)}`}>
          <Chart
            x={side.loads.map((_, index) => index + 1)}
            lines={[
              { name: 'sent', values: side.loads, colour: '--sent', isFilled: true },
              { name: 'limit', values: side.loads.map(() => side.limit), colour: '--limit' },
            ]}
            marks={side.compactedBefore.map((at) => ({ at, colour: '--mark' }))}
            label={`${side.loads.length} calls under ${side.policy}`}
          />
        </Card>
      ))}
    </>
  )
}

const figure = (name: string, value: number | undefined): string =>
  value === undefined
    ? '–'
    : name.includes('price')
      ? dollars(value)
      : Number.isInteger(value)
        ? tokens(value)
        : value.toFixed(3)

function Choice({
  name,
  value,
  set,
}: {
  name: string
  value: { policy: string; window: number }
  set: (value: { policy: string; window: number }) => void
}) {
  return (
    <fieldset>
      <legend>{name}</legend>
      <select
        aria-label={`Policy of the ${name}`}
        value={value.policy}
        onChange={(event) => set({ ...value, policy: event.currentTarget.value })}
      >
        {POLICIES.map((policy) => (
          <option value={policy}>{policy}</option>
        ))}
      </select>
      <input
        aria-label={`Window of the ${name}, in tokens`}
        type="number"
        min={2000}
        step={1000}
        value={value.window}
        onInput={(event) => set({ ...value, window: Number(event.currentTarget.value) })}
      />
    </fieldset>
  )
}
