import { type ComponentChildren, render } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { DashboardInfo, Report } from '../../src/dashboard/page-types.ts'
import { get, useLoad } from './api.ts'
import { followEvents, type LiveState, type News, type Subscribe } from './live.ts'
import { Artifacts } from './pages/artifacts.tsx'
import { Compare } from './pages/compare.tsx'
import { Meter, PolicyPage } from './pages/meter.tsx'
import { ReportSections } from './pages/report.tsx'
import { SessionView } from './pages/session/session.tsx'
import { Sessions } from './pages/sessions.tsx'
import { Spending } from './pages/spending.tsx'
import { Problem } from './parts/basics.tsx'
import { linkTo, PAGES, useRoute } from './route.ts'
import './style.css'

function Page() {
  const info = useLoad((signal) => get<DashboardInfo>('info', {}, signal), [])
  const place = useRoute()
  const [state, setState] = useState<LiveState>('connecting')
  const { subscribe, publish } = useMemo(listeners, [])
  const isOpen = info.value !== undefined
  useEffect(() => (isOpen ? followEvents(publish, setState) : undefined), [isOpen])
  useEffect(() => {
    document.title = place.page === 'session' ? `${place.query['session']} · Plimsoll` : `Plimsoll: ${place.page}`
  }, [place])
  const title = useRef<HTMLHeadingElement>(null)
  const shown = useRef(`${place.page} ${place.query['session'] ?? ''}`)
  useEffect(() => {
    const now = `${place.page} ${place.query['session'] ?? ''}`
    if (shown.current !== now) title.current?.focus()
    shown.current = now
  }, [place.page, place.query['session']])
  if (info.error?.status === 401) return <Login />
  const { page, query } = place
  const body = (value: DashboardInfo) => {
    if (page === 'session')
      return (
        <SessionView key={`${query['tenant']} ${query['session']}`} info={value} query={query} subscribe={subscribe} />
      )
    if (page === 'artifacts') return <Artifacts query={query} />
    if (page === 'spending') return <Spending subscribe={subscribe} />
    if (page === 'meter') return <Meter subscribe={subscribe} />
    if (page === 'policy') return <PolicyPage />
    if (page === 'compare') return <Compare info={value} query={query} />
    return <Sessions info={value} query={query} subscribe={subscribe} />
  }
  return (
    <>
      <Top>
        <nav aria-label="Pages">
          {PAGES.map((name) => (
            <a
              href={linkTo(name)}
              aria-current={name === page || (name === 'sessions' && page === 'session') ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <span class={`live ${state}`} role="status">
          {state === 'live' && info.value?.source === 'files' ? 'recorded files' : STATES[state]}
        </span>
      </Top>
      <main id="content" tabindex={-1}>
        <h1 class="unseen" tabindex={-1} ref={title}>
          {page === 'session' ? query['session'] : page}
        </h1>
        <Problem of={info} />
        {info.value !== undefined && body(info.value)}
      </main>
    </>
  )
}

const STATES: Readonly<Record<LiveState, string>> = {
  connecting: 'connecting',
  live: 'live',
  away: 'reconnecting',
  silent: 'not answering',
}

/** A report in a file of its own has no navigation and no live events. */
function ReportPage({ of: report }: { of: Report }) {
  useEffect(() => void (document.title = report.title), [report])
  return (
    <>
      <Top>
        <span class="about">{report.title}</span>
      </Top>
      <main id="content" tabindex={-1}>
        <h1>{report.heading}</h1>
        <ReportSections of={report} />
      </main>
    </>
  )
}

const Top = ({ children }: { children: ComponentChildren }) => (
  <>
    <a
      class="skip"
      href="#content"
      onClick={(event) => (event.preventDefault(), document.getElementById('content')?.focus())}
    >
      Skip to content
    </a>
    <header class="top">
      <a class="brand" href={linkTo('sessions')}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <circle cx="16" cy="16" r="9" />
          <path d="M2 16h28" />
        </svg>
        Plimsoll
      </a>
      {children}
    </header>
  </>
)

function listeners(): { subscribe: Subscribe; publish: (news: News) => void } {
  const all = new Set<(news: News) => void>()
  return {
    subscribe(listener) {
      all.add(listener)
      return () => all.delete(listener)
    },
    publish: (news) => all.forEach((listener) => listener(news)),
  }
}

/** A server on a public address requires its token; the page then moves to /t/<token>/, like an agent's base URL. */
function Login() {
  const [token, setToken] = useState('')
  return (
    <main id="content" class="login">
      <h1>Plimsoll</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          location.replace(`/t/${encodeURIComponent(token)}/${location.hash}`)
        }}
      >
        <label>
          Token of this proxy (PLIMSOLL_TOKEN)
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button disabled={token === ''}>Open</button>
      </form>
    </main>
  )
}

/** In a file of its own, the page contains a report and makes no requests. */
const given = document.getElementById('report')
render(
  given === null ? <Page /> : <ReportPage of={JSON.parse(given.textContent) as Report} />,
  document.getElementById('page')!,
)
