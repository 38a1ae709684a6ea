import type { PolicyRow } from '../../../src/dashboard/page-types.ts'
import { get } from '../api.ts'
import { useLoad } from '../load.ts'
import { Card, Problem, Table } from '../parts/basics.tsx'

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
