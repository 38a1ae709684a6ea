import { useState } from 'preact/hooks'
import type { DashboardInfo, HiddenRow, RemovalRows, SessionPage } from '../../../../src/dashboard/page-types.ts'
import type { Trouble } from '../../../../src/meter/session/figures.ts'
import type { Spent } from '../../../../src/meter/session/spent.ts'
import { answerText, figureList, mostText } from '../../../../src/meter/session/words.ts'
import { get, useLoad } from '../../api.ts'
import { bytes, clock, plural } from '../../format.ts'
import { type Subscribe, useChanges } from '../../live.ts'
import { Found } from '../../parts/found.tsx'
import { Badges, Card, Figure, Pages, Problem, Table, Text } from '../../parts/basics.tsx'
import { linkTo } from '../../route.ts'
import { Compactions } from './compactions.tsx'
import { Conversation } from './conversation.tsx'
import { Calls } from './load.tsx'
import { Overview, Share } from './overview.tsx'
import { useSeries } from './series.ts'

const TABS = ['load', 'request', 'search', 'compactions', 'calls', 'hidden', 'audit'] as const
type Tab = (typeof TABS)[number]
const TITLES: Readonly<Record<Tab, string>> = {
  load: 'Overview',
  request: 'Request as sent',
  search: 'Search',
  compactions: 'Compactions',
  calls: 'Calls',
  hidden: 'Hidden steps',
  audit: 'Audit trail',
}

interface SessionProps {
  readonly info: DashboardInfo
  readonly query: Readonly<Record<string, string>>
  readonly subscribe: Subscribe
}

export function SessionView({ info, query, subscribe }: SessionProps) {
  const { tenant = '', session = '' } = query
  const tab = TABS.find((one) => one === query['tab']) ?? 'load'
  const changes = useChanges((event) => event.session === session && event.tenant === tenant, subscribe)
  const [own, setOwn] = useState(0)
  const page = useLoad(
    (signal) => get<SessionPage>('session', { tenant, session }, signal),
    [changes, own],
    `${tenant} ${session}`,
  )
  const value = page.value
  const series = useSeries(tenant, session, value?.version)
  const spent = useLoad(
    (signal) => get<Spent>('spent', { tenant, session }, signal),
    [value?.version],
    `${tenant} ${session}`,
  )
  return (
    <>
      <div class="title">
        <a href={linkTo('sessions')}>Sessions</a>
        <h2>{session}</h2>
        {value !== undefined && <Badges of={value} />}
        {value !== undefined && series.value !== undefined && spent.value !== undefined && (
          <Share page={value} series={series.value} spent={spent.value} />
        )}
      </div>
      <Problem of={page} />
      {value !== undefined && (
        <>
          {value.halted !== undefined && (
            <div class="problem" role="alert">
              <strong>Halted</strong>
              <p>{value.halted}.</p>
            </div>
          )}
          <p class="answer">{answerText(value, spent.value && mostText(spent.value.kinds))}</p>
          <dl class="figures">
            {figureList(value).map(([name, text]) => (
              <Figure name={name} value={text} />
            ))}
            <Figure name="model" value={value.models.join(', ') || '–'} />
          </dl>
          <nav class="tabs" aria-label="Parts of the session">
            {TABS.map((name) => (
              <a
                href={linkTo('session', { tenant, session, tab: name })}
                aria-current={name === tab ? 'true' : undefined}
              >
                {TITLES[name]}
              </a>
            ))}
            <a href={linkTo('artifacts', { tenant, session })}>Artifacts</a>
          </nav>
          <Problem of={series} />
          {tab === 'load' && series.value !== undefined && (
            <Overview info={info} page={value} series={series.value} spent={spent.value} />
          )}
          {tab === 'request' && <Conversation page={value} />}
          {tab === 'search' && <Search tenant={tenant} session={session} />}
          {tab === 'compactions' && (
            <Compactions
              page={value}
              isRecorded={info.source === 'files'}
              open={query['epoch']}
              changed={() => setOwn((before) => before + 1)}
            />
          )}
          {tab === 'calls' && <Calls page={value} />}
          {tab === 'hidden' && <Hidden page={value} />}
          {tab === 'audit' && <Audit page={value} />}
        </>
      )}
    </>
  )
}

function Search({ tenant, session }: { tenant: string; session: string }) {
  const [query, setQuery] = useState('')
  return (
    <>
      <div class="toolbar">
        <input
          type="search"
          placeholder='Words, "exact strings", file: tool: role: since:'
          aria-label="Search this session"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      </div>
      <Found query={query} tenant={tenant} session={session} />
    </>
  )
}

const TROUBLES: Readonly<Record<Trouble, string>> = {
  'call-failed': 'failed call',
  'overflow-recovered': 'overflow recovered',
  halted: 'halted',
}

function Audit({ page }: { page: SessionPage }) {
  const { tenant, session, version, troubles } = page
  const [from, setFrom] = useState(0)
  const loaded = useLoad(
    (signal) => get<RemovalRows>('removals', { tenant, session, from }, signal),
    [from, version],
    session,
  )
  const value = loaded.value
  return (
    <>
      {troubles.length > 0 && (
        <Card title="Failed calls, recovered overflows and stops">
          <Table
            label="Troubles"
            rows={troubles.toReversed()}
            keyOf={({ at, what, reason }) => `${at} ${what} ${reason}`}
            columns={[
              { name: 'when', cell: ({ at }) => clock(at) },
              { name: 'what', cell: ({ what }) => TROUBLES[what] },
              { name: 'why', cell: ({ reason }) => reason },
            ]}
          />
        </Card>
      )}
      <Card
        title={`Everything that was removed or shortened${value === undefined ? '' : `: ${plural(value.total, 'entry', 'entries')}`}`}
      >
        <Problem of={loaded} />
        {value?.total === 0 && <p>Nothing was removed or shortened.</p>}
        {value !== undefined && (
          <>
            <Table
              label="Audit trail"
              rows={value.rows}
              keyOf={({ at, action, identity, handle, compaction }) =>
                [at, action, identity, handle, compaction].join(' ')
              }
              columns={[
                { name: 'when', cell: ({ at }) => clock(at) },
                {
                  name: 'what',
                  cell: ({ action, kind, tool = kind, undone }) =>
                    `${action}${undone === true ? ' (undone)' : ''}: ${tool}`,
                },
                { name: 'why', cell: ({ reason }) => reason },
                { name: 'bytes', isNumber: true, cell: ({ originalBytes }) => bytes(originalBytes) },
                { name: 'shown', isNumber: true, cell: ({ shownBytes }) => bytes(shownBytes) },
                {
                  name: 'original',
                  cell: ({ handle, identity = '' }) =>
                    handle === undefined ? (
                      <code>{identity.slice(0, 10)}</code>
                    ) : (
                      <a href={linkTo('artifacts', { tenant, handle })}>{handle}</a>
                    ),
                },
              ]}
            />
            <Pages of={value} go={setFrom} />
          </>
        )}
      </Card>
    </>
  )
}

/** Calls of our tools and their answers, which the client did not see. */
function Hidden({ page }: { page: SessionPage }) {
  const { tenant, session, version } = page
  const loaded = useLoad(
    (signal) => get<{ rows: HiddenRow[] }>('hidden', { tenant, session }, signal),
    [version],
    session,
  )
  const rows = loaded.value?.rows
  return (
    <Card title="Steps that the client did not see">
      <p class="dim">
        The model may ask for what was removed from its prompt. Such calls are answered here; the client gets the answer
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
