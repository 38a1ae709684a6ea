import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { DashboardInfo, RowFigures, SessionRow } from '../../../src/dashboard/page-types.ts'
import { get, post, useLoad } from '../api.ts'
import { ago, bytes, dollars, plural } from '../format.ts'
import { type Subscribe, useChanges } from '../live.ts'
import { Action, Card, LoadBar, Problem, Saved } from '../parts/basics.tsx'
import { linkTo } from '../route.ts'

const keyOf = ({ tenant, session }: { tenant: string; session: string }): string => JSON.stringify([tenant, session])

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
  const { figures, want } = useFigures()
  const rows = useMemo(
    () => (list.value?.rows ?? []).filter((row) => passes(filter, figures.get(keyOf(row)))),
    [list.value, filter, figures],
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
      <VirtualList
        rows={rows}
        keyOf={keyOf}
        label="Sessions"
        onView={want}
        row={(row) => <Row row={row} figures={figures.get(keyOf(row))} />}
      />
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

/** What should be looked at. */
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
/** Rows that only scroll by are not asked for. */
const SETTLE_MS = 30

/** Figures of the rows in view; those of rows that changed are asked for again. */
function useFigures(): { figures: ReadonlyMap<string, RowFigures>; want: (rows: readonly SessionRow[]) => void } {
  const [figures, setFigures] = useState<ReadonlyMap<string, RowFigures>>(new Map())
  const known = useRef(figures)
  known.current = figures
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(waiting.current), [])
  /** A few at a time, so that the first rows are there while the others are read; given up when other rows come into view. */
  const ask = async (missing: readonly SessionRow[], asked: typeof waiting.current): Promise<void> => {
    for (let from = 0; from < missing.length && waiting.current === asked; from += ASKED_AT_ONCE) {
      const sessions = missing.slice(from, from + ASKED_AT_ONCE).map(({ tenant, session }) => ({ tenant, session }))
      const { figures: found } = await post<{ figures: RowFigures[] }>('figures', { sessions })
      setFigures((before) => new Map([...before, ...found.map((each) => [keyOf(each), each] as const)]))
    }
  }
  const want = useCallback((rows: readonly SessionRow[]): void => {
    clearTimeout(waiting.current)
    waiting.current = setTimeout(() => {
      const missing = rows.filter((row) => known.current.get(keyOf(row))?.version !== row.version)
      if (missing.length === 0) return
      void ask(missing, waiting.current).catch(() => undefined)
    }, SETTLE_MS)
  }, [])
  return { figures, want }
}

/** The first visit: nothing has come through yet. */
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

const BEYOND = 8

/** Shows the rows that are in view, out of any number. All rows are equally high. */
function VirtualList<T>(props: {
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly row: (row: T, index: number) => ComponentChildren
  readonly label: string
  /** Told which rows are in view. */
  readonly onView?: (rows: readonly T[]) => void
}) {
  const { rows, keyOf, row, label, onView } = props
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState(56)
  const [range, setRange] = useState({ from: 0, to: 40 })
  const look = (): void => {
    const element = box.current
    if (element === null) return
    const first = element.querySelector<HTMLElement>('[data-row]')
    const tall = first === null ? height : first.offsetHeight
    if (tall > 0 && tall !== height) setHeight(tall)
    const from = Math.max(0, Math.floor(element.scrollTop / tall) - BEYOND)
    const to = Math.min(rows.length, Math.ceil((element.scrollTop + element.clientHeight) / tall) + BEYOND)
    setRange((before) => (before.from === from && before.to === to ? before : { from, to }))
  }
  useLayoutEffect(look)
  useEffect(() => {
    addEventListener('resize', look)
    return () => removeEventListener('resize', look)
  })
  const shown = rows.slice(range.from, range.to)
  const shownKeys = shown.map(keyOf).join('\n')
  useEffect(() => onView?.(shown), [shownKeys, rows])
  return (
    <div class="virtual" ref={box} onScroll={look} role="list" aria-label={label} tabindex={0}>
      <div style={{ height: `${range.from * height}px` }} aria-hidden="true" />
      {shown.map((each, offset) => (
        <div
          role="listitem"
          data-row
          key={keyOf(each)}
          aria-setsize={rows.length}
          aria-posinset={range.from + offset + 1}
        >
          {row(each, range.from + offset)}
        </div>
      ))}
      <div style={{ height: `${Math.max(0, rows.length - range.to) * height}px` }} aria-hidden="true" />
    </div>
  )
}
