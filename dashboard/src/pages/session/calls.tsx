import { useState } from 'preact/hooks'
import type { PageCall, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { clock, dollars, tokens } from '../../format.ts'
import { Card, Table } from '../../parts/basics.tsx'

export function Calls({ page }: { page: SessionPage }) {
  return (
    <Card title={`${tokens(page.calls)} calls`}>
      <CallTable calls={page.callList.toReversed()} />
    </Card>
  )
}

const CALLS_SHOWN = 300

export function CallTable({ calls }: { calls: readonly PageCall[] }) {
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
