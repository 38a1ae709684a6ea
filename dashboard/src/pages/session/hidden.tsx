import type { HiddenRow, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { get } from '../../api.ts'
import { clock, plural } from '../../format.ts'
import { useLoad } from '../../load.ts'
import { Card, Problem, Text } from '../../parts/basics.tsx'

/** What the model asked tools of ours, and what they answered. The client saw none of it. */
export function Hidden({ page }: { page: SessionPage }) {
  const { tenant, session, version } = page
  const loaded = useLoad(
    (signal) => get<{ rows: HiddenRow[] }>('hidden', { tenant, session }, signal),
    [tenant, session, version],
  )
  const rows = loaded.value?.rows
  return (
    <Card title="Steps that the client did not see">
      <p class="dim">
        The model may ask for what was taken out of its prompt. Such calls are answered here; the client gets the answer
        that comes after them.
      </p>
      <Problem of={loaded} />
      {rows !== undefined && (
        <p>{rows.length === 0 ? 'The model has called no tool of Plimsoll.' : plural(rows.length, 'call')}</p>
      )}
      <ol class="hidden-steps">
        {rows?.map((row) => (
          <li key={`${row.at} ${row.identity ?? row.asked}`}>
            <h3>
              {row.tool} <span class="dim">{clock(row.at)}</span>
              {page.agents.length > 1 && <em> {row.agent}</em>}
            </h3>
            <Text text={row.asked} />
            {row.answered === undefined ? <p class="dim">No answer is archived yet.</p> : <Text text={row.answered} />}
          </li>
        ))}
      </ol>
    </Card>
  )
}
