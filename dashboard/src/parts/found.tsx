import type { FoundRow } from '../../../src/dashboard/page-types.ts'
import { get, useLoad } from '../api.ts'
import { ago } from '../format.ts'
import { linkTo } from '../route.ts'
import { Card, Problem, Text } from './basics.tsx'

/** Shorter words find too much while they are typed. */
const LEAST_CHARACTERS = 3

/** Passages of what was said and returned, best first: in one session, or in all. */
export function Found({ query, tenant, session }: { query: string; tenant?: string; session?: string }) {
  const asked = query.trim()
  const found = useLoad<{ rows: FoundRow[] }>(
    (signal) =>
      asked.length < LEAST_CHARACTERS
        ? Promise.resolve({ rows: [] })
        : get('search', { q: asked, tenant, session }, signal),
    [asked, tenant, session],
  )
  const rows = found.value?.rows ?? []
  if (asked.length < LEAST_CHARACTERS || (found.value !== undefined && rows.length === 0 && session === undefined))
    return null
  return (
    <Card title="Said and returned">
      <Problem of={found} />
      {found.value !== undefined && rows.length === 0 && <p class="dim">Nothing in this session mentions it.</p>}
      <div role="list" aria-label="Passages found">
        {rows.map(({ tenant: owner, session: name, kind, tool, at, excerpt }) => (
          <div role="listitem" key={`${name} ${at} ${excerpt}`}>
            <p class="dim">
              <a href={linkTo('session', { tenant: owner, session: name, tab: 'request' })}>{name}</a>, {tool ?? kind}
              {at === undefined ? '' : `, ${ago(at)}`}
            </p>
            <Text text={excerpt} />
          </div>
        ))}
      </div>
    </Card>
  )
}
