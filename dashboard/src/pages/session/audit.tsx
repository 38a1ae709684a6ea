import type { SessionPage } from '../../../../src/dashboard/page-types.ts'
import { bytes, clock } from '../../format.ts'
import { Card, Table } from '../../parts/basics.tsx'
import { linkTo } from '../../route.ts'

export function Audit({ page }: { page: SessionPage }) {
  const { tenant } = page
  return (
    <Card title="Everything that was removed or shortened, and where the original is">
      {page.cuts.length === 0 && <p>Nothing was removed or shortened.</p>}
      <Table
        label="Audit trail"
        rows={page.cuts.toReversed()}
        keyOf={(cut) => `${cut.at} ${cut.handle ?? ''} ${cut.action}`}
        columns={[
          { name: 'when', cell: ({ at }) => clock(at) },
          { name: 'what', cell: ({ action, tool }) => (tool === undefined ? action : `${action}: ${tool}`) },
          { name: 'why', cell: ({ reason }) => reason },
          { name: 'bytes', isNumber: true, cell: ({ originalBytes }) => bytes(originalBytes) },
          { name: 'shown', isNumber: true, cell: ({ shownBytes }) => bytes(shownBytes) },
          {
            name: 'original',
            cell: ({ handle }) =>
              handle !== undefined && <a href={linkTo('artifacts', { tenant, handle })}>{handle}</a>,
          },
        ]}
      />
    </Card>
  )
}
