import { useState } from 'preact/hooks'
import type { DashboardInfo, Report, SessionRow } from '../../../src/dashboard/page-types.ts'
import { get, post, useLoad } from '../api.ts'
import { Card } from '../parts/basics.tsx'
import { ReportSections } from './report.tsx'

const POLICIES = ['plimsoll', 'autosre', 'cyber-autoagent', 'contextguard', 'adk-code', 'ai-agent']

/** Replays a recorded session under two policies or windows, and shows the report of `plimsoll replay`. */
export function Compare({ info, query }: { info: DashboardInfo; query: Readonly<Record<string, string>> }) {
  const list = useLoad((signal) => get<{ rows: SessionRow[] }>('sessions', {}, signal), [])
  const [report, setReport] = useState<Report>()
  const [said, setSaid] = useState('')
  if (info.source !== 'files')
    return (
      <Card title="Compare">
        <p>
          Recorded sessions can be replayed under two policies or windows side by side. Open files for that:{' '}
          <code>plimsoll dashboard session.jsonl</code>
        </p>
      </Card>
    )
  const run = async (asked: FormData): Promise<void> => {
    setSaid('Replaying …')
    const sides = [0, 1].map((side) => ({
      policy: asked.getAll('policy')[side],
      window: Number(asked.getAll('window')[side]),
    }))
    const answer = post<Report>('compare', { session: asked.get('session'), sides })
    setSaid(
      await answer.then(
        (found) => (setReport(found), ''),
        (error: Error) => error.message,
      ),
    )
  }
  return (
    <>
      <Card title="Replay a session twice">
        <form
          class="toolbar"
          onSubmit={(event) => {
            event.preventDefault()
            void run(new FormData(event.currentTarget))
          }}
        >
          <label>
            session
            <select name="session">
              {(list.value?.rows ?? []).map(({ session }) => (
                <option selected={session === query['session']}>{session}</option>
              ))}
            </select>
          </label>
          <Side name="first" window={Number(query['window'] ?? 64_000)} />
          <Side name="second" window={Number(query['other'] ?? 32_000)} />
          <button disabled={list.value === undefined}>Compare</button>
          <span role="status">{said}</span>
        </form>
      </Card>
      {report !== undefined && <ReportSections of={report} />}
    </>
  )
}

const Side = ({ name, window }: { name: string; window: number }) => (
  <fieldset>
    <legend>{name}</legend>
    <select name="policy" aria-label={`Policy of the ${name}`}>
      {POLICIES.map((policy) => (
        <option>{policy}</option>
      ))}
    </select>
    <input
      name="window"
      aria-label={`Window of the ${name}, in tokens`}
      type="number"
      min={2000}
      step={1000}
      defaultValue={String(window)}
    />
  </fieldset>
)
