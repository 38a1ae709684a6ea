import { useState } from 'preact/hooks'
import type { ArtifactStat } from '../../../src/ports/artifact-store.ts'
import type { SessionRow } from '../../../src/dashboard/page-types.ts'
import { downloadUrl, get, useLoad } from '../api.ts'
import { bytes, clock, tokens } from '../format.ts'
import { Card, Figure, Problem, Table, Text } from '../parts/basics.tsx'
import { linkTo } from '../route.ts'

export function Artifacts({ query }: { query: Readonly<Record<string, string>> }) {
  const { handle, session } = query
  const tenants = useLoad(async (signal) => {
    const { rows } = await get<{ rows: SessionRow[] }>('sessions', {}, signal)
    return [...new Set(rows.map(({ tenant }) => tenant))]
  }, [])
  const tenant = query['tenant'] ?? tenants.value?.[0]
  if (handle !== undefined && tenant !== undefined) return <Artifact tenant={tenant} handle={handle} />
  return (
    <>
      {query['tenant'] === undefined && (tenants.value?.length ?? 0) > 1 && (
        <nav class="toolbar" aria-label="Tenants">
          {tenants.value?.map((name) => (
            <a href={linkTo('artifacts', { tenant: name })}>{name}</a>
          ))}
        </nav>
      )}
      {tenant === undefined ? (
        <Card title="No artifacts">Nothing has been removed from any conversation yet.</Card>
      ) : (
        <List tenant={tenant} session={session} />
      )}
    </>
  )
}

function List({ tenant, session }: { tenant: string; session: string | undefined }) {
  const [pages, setPages] = useState<readonly string[]>([''])
  const list = useLoad(
    async (signal) => {
      const found: ArtifactStat[] = []
      for (const after of pages)
        found.push(...(await get<{ rows: ArtifactStat[] }>('artifacts', { tenant, session, after }, signal)).rows)
      return found
    },
    [tenant, session, pages.length],
  )
  const [wanted, setWanted] = useState('')
  const rows = (list.value ?? []).filter(({ handle, tool = '', contentKind = '' }) =>
    `${handle} ${tool} ${contentKind}`.toLowerCase().includes(wanted.toLowerCase()),
  )
  return (
    <Card title={session === undefined ? 'Artifacts' : `Artifacts of ${session}`}>
      <Problem of={list} />
      <div class="toolbar">
        <input
          type="search"
          placeholder="Search by tool, kind or handle"
          aria-label="Search artifacts"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      </div>
      <Table
        label="Artifacts"
        rows={rows}
        keyOf={({ handle }) => handle}
        columns={[
          { name: 'handle', cell: ({ handle }) => <a href={linkTo('artifacts', { tenant, handle })}>{handle}</a> },
          { name: 'tool', cell: ({ tool = '' }) => tool },
          { name: 'kind', cell: ({ contentKind = '' }) => contentKind },
          { name: 'size', isNumber: true, cell: (row) => bytes(row.bytes) },
          { name: 'lines', isNumber: true, cell: ({ lines }) => (lines === undefined ? '' : tokens(lines)) },
          { name: 'stored', cell: ({ createdAt }) => clock(createdAt) },
        ]}
      />
      {(list.value?.length ?? 0) === pages.length * 200 && (
        <button onClick={() => setPages([...pages, list.value!.at(-1)!.handle])}>Show more</button>
      )}
    </Card>
  )
}

function Artifact({ tenant, handle }: { tenant: string; handle: string }) {
  const [start, setStart] = useState(0)
  const part = useLoad(
    (signal) =>
      get<{ stat: ArtifactStat; start: number; end: number; text: string }>(
        'artifact',
        { tenant, handle, start },
        signal,
      ),
    [tenant, handle, start],
  )
  const value = part.value
  return (
    <>
      <Card title={handle} actions={<a href={downloadUrl(tenant, handle)}>Download</a>}>
        <Problem of={part} />
        {value !== undefined && (
          <>
            <dl class="figures">
              <Figure name="size" value={bytes(value.stat.bytes)} hint={`${value.stat.bytes} bytes`} />
              <Figure name="tool" value={value.stat.tool ?? '–'} />
              <Figure name="kind" value={value.stat.contentKind ?? '–'} />
              <Figure name="stored" value={clock(value.stat.createdAt)} />
              {value.stat.session !== undefined && (
                <Figure
                  name="session"
                  value={<a href={linkTo('session', { tenant, session: value.stat.session })}>{value.stat.session}</a>}
                />
              )}
            </dl>
            <Text text={value.text} />
            <div class="toolbar">
              <button disabled={start === 0} onClick={() => setStart(Math.max(0, start - (value.end - value.start)))}>
                Before
              </button>
              <span class="dim">
                bytes {tokens(value.start)}–{tokens(value.end)} of {tokens(value.stat.bytes)}
              </span>
              <button disabled={value.end >= value.stat.bytes} onClick={() => setStart(value.end)}>
                After
              </button>
            </div>
          </>
        )}
      </Card>
      <Card title="Search and query">
        <pre tabindex={0}>
          {[
            `plimsoll artifacts grep ${handle} 'error|timeout'`,
            `plimsoll artifacts query ${handle} 'SELECT count(*) FROM t'`,
            `plimsoll artifacts run ${handle} 'data.length'`,
          ].join('\n')}
        </pre>
      </Card>
    </>
  )
}
