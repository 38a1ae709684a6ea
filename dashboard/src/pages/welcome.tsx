import type { DashboardInfo } from '../../../src/dashboard/page-types.ts'
import { post } from '../api.ts'
import { Action, Card } from '../parts/basics.tsx'

/** The first visit: nothing has come through yet. */
export function Welcome({ info }: { info: DashboardInfo }) {
  return (
    <Card title="No sessions yet">
      {info.connect.length > 0 ? (
        <>
          <p>Point an agent at this proxy, and its sessions appear here while they run:</p>
          <pre tabindex={0}>{info.connect.map(({ name, value }) => `export ${name}=${value}`).join('\n')}</pre>
          <p>
            Or let Plimsoll start it: <code>plimsoll run -- claude</code>, <code>plimsoll run -- codex</code>, and
            others (<code>plimsoll run --list</code>).
          </p>
        </>
      ) : (
        <p>
          The store <code>{info.store}</code> has no sessions. A proxy (<code>plimsoll proxy</code>) or{' '}
          <code>plimsoll chat</code> writes them.
        </p>
      )}
      {info.source === 'proxy' && (
        <p>
          <Action
            name="Run the demo session"
            run={async () => {
              await post('demo', {})
              return 'Started: the session appears in a moment.'
            }}
          />
        </p>
      )}
    </Card>
  )
}
