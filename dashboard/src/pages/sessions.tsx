import { useEffect, useState } from 'preact/hooks'
import type { DashboardInfo, SessionList, SessionRow, SessionSummary } from '../../../src/dashboard/page-types.ts'
import { costText, marked, savedText } from '../../../src/meter/session/words.ts'
import { get, post, useLoad } from '../api.ts'
import { ago, bytes, dollars, percent, plural, short, tokens } from '../format.ts'
import { type Subscribe, useChanges } from '../live.ts'
import { Action, Badges, Card, Problem, Sparkline } from '../parts/basics.tsx'
import { Found } from '../parts/found.tsx'
import { linkTo, replaceQuery } from '../route.ts'

const keyOf = ({ tenant, session }: SessionRow): string => JSON.stringify([tenant, session])

const FILTERS = [
  'near the limit',
  'compacted',
  'halted',
  'failed calls',
  'overflow recovered',
  'no usage reported',
  'price unknown',
]
const ROWS = 50
/** While a large store is read, the list is asked for again. */
const AGAIN_MS = 150

/** The columns that the list can be sorted by, with the server's name of each. */
const SORTS = [
  ['needs attention', 'attention'],
  ['load', 'load'],
  ['calls', 'calls'],
  ['compactions', 'compactions'],
  ['cost', 'cost'],
  ['saved', 'saved'],
  ['last call', 'newest'],
] as const

interface SessionsProps {
  readonly info: DashboardInfo
  readonly query: Readonly<Record<string, string>>
  readonly subscribe: Subscribe
}

/** Search, filter, order and length of the list stand in the address, so that Back finds them again. */
export function Sessions({ info, query, subscribe }: SessionsProps) {
  const { q = '', filter = '', sort = 'attention', show = '' } = query
  const most = Math.max(ROWS, Number(show) || 0)
  const changes = useChanges((event) => event.session !== '', subscribe)
  const [again, setAgain] = useState(0)
  const list = useLoad(
    async (signal) => {
      const pages: SessionList[] = []
      for (let from = 0; from < most; from += ROWS) {
        const page = await get<SessionList>('sessions', { q, filter, sort, from }, signal)
        pages.push(page)
        if (from + ROWS >= page.matched) break
      }
      return { ...pages[0]!, rows: pages.flatMap(({ rows }) => rows) }
    },
    [q, filter, sort, most, changes, again],
  )
  const value = list.value
  const isPartial = value !== undefined && value.read < value.total
  useEffect(() => {
    if (!isPartial || list.isLoading) return undefined
    const timer = setTimeout(() => setAgain((before) => before + 1), AGAIN_MS)
    return () => clearTimeout(timer)
  }, [value, list.isLoading])
  const go = (change: Readonly<Record<string, string>>): void =>
    replaceQuery('sessions', { q, filter, sort: sort === 'attention' ? '' : sort, ...change })
  if (value?.total === 0 && q === '') return <Welcome info={info} unreadable={value.unreadable} />
  return (
    <>
      <div class="toolbar">
        <input
          type="search"
          placeholder="Search sessions"
          aria-label="Search sessions, and what was said in them"
          value={q}
          onInput={(event) => go({ q: event.currentTarget.value })}
        />
        <select aria-label="Filter" value={filter} onChange={(event) => go({ filter: event.currentTarget.value })}>
          <option value="">all</option>
          {FILTERS.map((name) => (
            <option value={name}>{name}</option>
          ))}
        </select>
        <select aria-label="Sort by" value={sort} onChange={(event) => go({ sort: event.currentTarget.value })}>
          {SORTS.map(([name, by]) => (
            <option value={by}>{name}</option>
          ))}
        </select>
        <span class="dim" role="status">
          {value !== undefined && countText(value)}
        </span>
      </div>
      <Problem of={list} />
      <Unreadable files={value?.unreadable ?? []} />
      <div class="rows-head" aria-hidden="true">
        <span>session</span>
        <span>prompts against the limit</span>
        <span>model</span>
        <span class="number">calls</span>
        <span class="number">compactions</span>
        <span class="number">cost</span>
        <span class="number">saved</span>
        <span class="number">last call</span>
      </div>
      <div class="rows" role="list" aria-label="Sessions">
        {value?.rows.map((row) => (
          <div role="listitem" key={keyOf(row)}>
            <Row row={row} />
          </div>
        ))}
      </div>
      {value !== undefined && value.matched > value.rows.length && (
        <button onClick={() => go({ show: String(most + ROWS) })}>Show more</button>
      )}
      <Found query={q} />
    </>
  )
}

function countText({ total, read, matched, totals }: SessionList): string {
  const those = matched === total ? plural(total, 'session') : `${tokens(matched)} of ${plural(total, 'session')}`
  const sums = `${tokens(totals.calls)} calls, ${totals.costUsd === 0 && totals.unpriced > 0 ? 'cost unknown' : dollars(totals.costUsd)}, ≈ ${dollars(totals.savedUsd)} saved`
  return read < total ? `${those}; ${tokens(read)} read so far` : `${those}; ${sums}`
}

const Unreadable = ({ files }: { files: readonly string[] }) =>
  files.length === 0 ? null : (
    <div class="problem" role="alert">
      <strong>{plural(files.length, 'file')} could not be read</strong>
      <ul>
        {files.map((text) => (
          <li>{text}</li>
        ))}
      </ul>
    </div>
  )

function Row({ row }: { row: SessionRow }) {
  const { tenant, session, figures } = row
  const cell = (name: string, text: string | undefined) => (
    <span class="number" data-name={name}>
      {text}
    </span>
  )
  return (
    <a class="session-row" href={linkTo('session', { tenant, session })}>
      <span class="name" title={`${session} (tenant ${tenant})`}>
        {session}
        {figures !== undefined && <Badges of={figures} />}
      </span>
      {figures === undefined ? <span class="dim">{bytes(row.bytes)}</span> : <Prompts of={figures} />}
      <span class="model">{figures?.models.join(', ')}</span>
      {cell('calls', figures && tokens(figures.calls))}
      {cell('compactions', figures && tokens(figures.compactions))}
      {cell('cost', figures && costText(figures))}
      {cell('saved', figures && savedText(figures))}
      <time class="number" dateTime={new Date(row.updatedAt).toISOString()}>
        {ago(row.updatedAt)}
      </time>
    </a>
  )
}

const Prompts = ({ of: { spark, load, limit } }: { of: SessionSummary }) => (
  <span
    class="prompts"
    title={limit === 0 ? '' : `last prompt ${marked(load, tokens(load.value))} of ${tokens(limit)} tokens`}
  >
    <Sparkline values={spark} />
    <span class="figure">{limit === 0 ? short(load.value) : percent(load.value, limit)}</span>
  </span>
)

/** Shown before the first request. */
function Welcome({ info, unreadable }: { info: DashboardInfo; unreadable: readonly string[] }) {
  return (
    <>
      <Unreadable files={unreadable} />
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
    </>
  )
}
