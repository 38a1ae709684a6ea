import { useState } from 'preact/hooks'
import type { HiddenRow, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { get, useLoad } from '../../api.ts'
import { bytes, clock, dollars, percent, plural, tokens } from '../../format.ts'
import { type Subscribe, useChanges } from '../../live.ts'
import { Card, Figure, LoadBar, Problem, Saved, Table, Text } from '../../parts/basics.tsx'
import { linkTo } from '../../route.ts'
import { Compactions } from './compactions.tsx'
import { Conversation } from './conversation.tsx'
import { Calls, Load } from './load.tsx'

const TABS = ['load', 'request', 'compactions', 'calls', 'hidden', 'audit'] as const
type Tab = (typeof TABS)[number]
const TITLES: Readonly<Record<Tab, string>> = {
  load: 'Load',
  request: 'Request as sent',
  compactions: 'Compactions',
  calls: 'Calls',
  hidden: 'Hidden steps',
  audit: 'Audit trail',
}

export function SessionView({ query, subscribe }: { query: Readonly<Record<string, string>>; subscribe: Subscribe }) {
  const { tenant = '', session = '' } = query
  const tab = TABS.find((one) => one === query['tab']) ?? 'load'
  const changes = useChanges((event) => event.session === session && event.tenant === tenant, subscribe)
  const [own, setOwn] = useState(0)
  const page = useLoad(
    (signal) => get<SessionPage>('session', { tenant, session }, signal),
    [tenant, session, changes, own],
  )
  const value = page.value
  return (
    <>
      <div class="title">
        <a href={linkTo('sessions')}>Sessions</a>
        <h2>{session}</h2>
      </div>
      <Problem of={page} />
      {value !== undefined && (
        <>
          <Headline page={value} />
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
          {tab === 'load' && <Load page={value} />}
          {tab === 'request' && <Conversation page={value} />}
          {tab === 'compactions' && <Compactions page={value} changed={() => setOwn((before) => before + 1)} />}
          {tab === 'calls' && <Calls page={value} />}
          {tab === 'hidden' && <Hidden page={value} />}
          {tab === 'audit' && <Audit page={value} />}
        </>
      )}
    </>
  )
}

/** The session's main figures. */
function Headline({ page }: { page: SessionPage }) {
  const { usage } = page
  const last = page.callList.findLast(({ purpose }) => purpose === 'turn')
  const next = last === undefined ? 0 : last.prompt + (last.usage?.output ?? 0)
  return (
    <dl class="figures">
      <Figure
        name="next request, at least"
        value={<LoadBar load={next} limit={page.limit} window={page.window} />}
        hint="Last prompt and its answer, without what the client adds next"
      />
      <Figure
        name="limit"
        value={page.limit === 0 ? 'unknown' : `${tokens(page.limit)} of ${tokens(page.window)}`}
        hint="The part of the model's window that the prompt may use"
      />
      <Figure name="calls" value={tokens(page.calls)} />
      <Figure name="compactions" value={page.compactions} />
      <Figure
        name="overflows avoided"
        value={tokens(page.overflowsAvoided)}
        hint="Calls that would not have fitted without compaction"
      />
      <Figure
        name="from the cache"
        value={usage.input === 0 ? '–' : percent(usage.cacheRead / usage.input)}
        hint="Share of all prompt tokens"
      />
      <Figure name="cost" value={dollars(page.costUsd)} hint={`Exactly $${page.costUsd}`} />
      <Figure
        name="saved, net"
        value={<Saved usd={page.savedUsd} />}
        hint="What sending everything would have cost, less what was paid, summaries included"
      />
      <Figure name="model" value={page.models.join(', ') || '–'} />
    </dl>
  )
}

function Audit({ page }: { page: SessionPage }) {
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

/** Calls of our tools and their answers, which the client did not see. */
function Hidden({ page }: { page: SessionPage }) {
  const { tenant, session, version } = page
  const loaded = useLoad(
    (signal) => get<{ rows: HiddenRow[] }>('hidden', { tenant, session }, signal),
    [tenant, session, version],
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
