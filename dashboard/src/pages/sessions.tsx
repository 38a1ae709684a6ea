import { useEffect, useMemo, useState } from 'preact/hooks'
import type { DashboardInfo, RowFigures, SessionRow } from '../../../src/dashboard/page-types.ts'
import { get, post, useLoad } from '../api.ts'
import { ago, bytes, dollars, plural } from '../format.ts'
import { type Subscribe, useChanges } from '../live.ts'
import { Action, Card, LoadBar, Problem, Saved } from '../parts/basics.tsx'
import { linkTo } from '../route.ts'

const keyOf = ({ tenant, session }: { tenant: string; session: string }): string => JSON.stringify([tenant, session])

type Figures = ReadonlyMap<string, RowFigures>

/** A store may have thousands of sessions; the newest are shown first, and more on request. */
const ROWS_SHOWN = 50

const FILTERS = ['all', 'near the limit', 'compacted', 'stopped', 'overflow recovered', 'no usage reported'] as const
type Filter = (typeof FILTERS)[number]

export function Sessions({ info, subscribe }: { info: DashboardInfo; subscribe: Subscribe }) {
  const [query, setQuery] = useState('')
  const [filter, setFilter] = useState<Filter>('all')
  const changes = useChanges((event) => event.session !== '', subscribe)
  const list = useLoad(
    (signal) => get<{ total: number; rows: SessionRow[] }>('sessions', { q: query }, signal),
    [query, changes],
  )
  const [figures, setFigures] = useState<Figures>(new Map())
  const [most, setMost] = useState(ROWS_SHOWN)
  const rows = useMemo(
    () => (list.value?.rows ?? []).filter((row) => passes(filter, figures.get(keyOf(row)))),
    [list.value, filter, figures],
  )
  const shown = useMemo(() => rows.slice(0, most), [rows, most])
  useFigures(shown, figures, (found) =>
    setFigures((before) => new Map([...before, ...found.map((each) => [keyOf(each), each] as const)])),
  )
  const total = list.value?.total ?? 0
  if (list.value !== undefined && total === 0 && query === '') return <Welcome info={info} />
  return (
    <>
      <div class="toolbar">
        <input
          type="search"
          placeholder="Search sessions"
          aria-label="Search sessions"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <select aria-label="Filter" value={filter} onChange={(event) => setFilter(event.currentTarget.value as Filter)}>
          {FILTERS.map((name) => (
            <option value={name}>{name}</option>
          ))}
        </select>
        <span class="dim" role="status">
          {rows.length === total ? plural(total, 'session') : `${rows.length} of ${plural(total, 'session')}`}
        </span>
      </div>
      <Problem of={list} />
      <div class="rows-head" aria-hidden="true">
        <span>session</span>
        <span>prompt against limit</span>
        <span>model</span>
        <span class="number">calls</span>
        <span class="number">compactions</span>
        <span class="number">cost</span>
        <span class="number">saved</span>
        <span class="number">last call</span>
      </div>
      <div class="rows" role="list" aria-label="Sessions">
        {shown.map((row) => (
          <div role="listitem" key={keyOf(row)}>
            <Row row={row} figures={figures.get(keyOf(row))} />
          </div>
        ))}
      </div>
      {rows.length > most && <button onClick={() => setMost(most + ROWS_SHOWN)}>Show more</button>}
    </>
  )
}

function passes(filter: Filter, figures: RowFigures | undefined): boolean {
  if (filter === 'all' || figures === undefined) return true
  if (filter === 'near the limit') return figures.limit > 0 && figures.load > 0.7 * figures.limit
  if (filter === 'compacted') return figures.compactions > 0
  if (filter === 'stopped') return isStopped(figures)
  if (filter === 'overflow recovered') return (figures.recovered ?? 0) > 0
  return figures.withoutUsage > 0
}

/** The last request got a closing answer, or none. */
const isStopped = ({ verdict = 'proceed' }: RowFigures): boolean => verdict === 'final' || verdict === 'halt'

/** Notes on a session that the user should look at. */
function Notes({ of: figures }: { of: RowFigures }) {
  const { agents, recovered = 0, withoutUsage } = figures
  const notes = [
    ...(agents.length > 1 ? [`${agents.length} agents`] : []),
    ...(isStopped(figures) ? [figures.verdict === 'halt' ? 'halted' : 'closing answer'] : []),
    ...(recovered > 0 ? [`${plural(recovered, 'overflow')} recovered`] : []),
    ...(withoutUsage > 0 ? [`${withoutUsage} without usage`] : []),
  ]
  return notes.length === 0 ? null : <em> {notes.join(', ')}</em>
}

function Row({ row, figures }: { row: SessionRow; figures: RowFigures | undefined }) {
  const { tenant, session } = row
  return (
    <a class="session-row" href={linkTo('session', { tenant, session })}>
      <span class="name" title={`${session} (tenant ${tenant})`}>
        {session}
        {figures !== undefined && <Notes of={figures} />}
      </span>
      {figures === undefined ? (
        <span class="dim">{bytes(row.bytes)}</span>
      ) : (
        <LoadBar load={figures.load} limit={figures.limit} window={figures.window} />
      )}
      <span class="model">{figures?.models.join(', ')}</span>
      <span class="number" data-name="calls">
        {figures?.calls}
      </span>
      <span class="number" data-name="compactions">
        {figures?.compactions}
      </span>
      <span class="number" data-name="cost">
        {figures === undefined ? '' : dollars(figures.costUsd)}
      </span>
      <span class="number" data-name="saved">
        {figures === undefined ? '' : <Saved usd={figures.savedUsd} />}
      </span>
      <time class="number" dateTime={new Date(row.updatedAt).toISOString()}>
        {ago(row.updatedAt)}
      </time>
    </a>
  )
}

const ASKED_AT_ONCE = 8

/** The figures of these rows; rows that changed are loaded again. */
function useFigures(
  rows: readonly SessionRow[],
  known: Figures,
  found: (figures: readonly RowFigures[]) => void,
): void {
  useEffect(() => {
    let isCurrent = true
    const missing = rows.filter((row) => (known.get(keyOf(row))?.version ?? -1) < row.version)
    /** A few at a time, so that the first rows appear early. */
    const ask = async (): Promise<void> => {
      for (let from = 0; from < missing.length && isCurrent; from += ASKED_AT_ONCE) {
        const sessions = missing.slice(from, from + ASKED_AT_ONCE).map(({ tenant, session }) => ({ tenant, session }))
        const { figures } = await post<{ figures: RowFigures[] }>('figures', { sessions })
        if (figures.length > 0) found(figures)
      }
    }
    void ask().catch(() => undefined)
    return () => {
      isCurrent = false
    }
  }, [rows])
}

/** Shown before the first request. */
function Welcome({ info }: { info: DashboardInfo }) {
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
