import { useState } from 'preact/hooks'
import type { SessionPage } from '../../../../src/dashboard/page-types.ts'
import { get } from '../../api.ts'
import { useLoad } from '../../load.ts'
import { useChanges, type Subscribe } from '../../live.ts'
import { Problem } from '../../parts/basics.tsx'
import { linkTo } from '../../route.ts'
import { Audit } from './audit.tsx'
import { Calls } from './calls.tsx'
import { Compactions } from './compactions.tsx'
import { Conversation } from './conversation.tsx'
import { Headline } from './headline.tsx'
import { Hidden } from './hidden.tsx'
import { Load } from './load.tsx'

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
