import { useMemo, useState } from 'preact/hooks'
import type { RecordRecall } from '../../../src/core/records.ts'
import type { PageCall, PageCompaction, SessionPage } from '../../../src/surfaces/dashboard/page-types.ts'
import { get, post } from '../api.ts'
import { bytes, clock, dollars, percent, short, tokens } from '../format.ts'
import { useLoad } from '../load.ts'
import { useChanges, type Subscribe } from '../live.ts'
import { Action, Card, Figure, LoadBar, Problem, Saved, Table, Text } from '../parts/basics.tsx'
import { Chart, type Line } from '../parts/chart.tsx'
import { linkTo } from '../route.ts'
import { Conversation } from './conversation.tsx'
import { Hidden } from './hidden.tsx'

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

function Headline({ page }: { page: SessionPage }) {
  const { usage } = page
  const last = page.callList.findLast(({ purpose }) => purpose === 'turn')
  const next = last === undefined ? 0 : last.prompt + (last.usage?.output ?? 0)
  return (
    <dl class="figures">
      <Figure
        name="next request, at least"
        value={<LoadBar load={next} limit={page.limit} window={page.window} />}
        hint="Last prompt and its answer; what the client adds comes on top"
      />
      <Figure
        name="limit"
        value={page.limit === 0 ? 'unknown' : `${tokens(page.limit)} of ${tokens(page.window)}`}
        hint="What fits beside the answer, of the model's window"
      />
      <Figure name="calls" value={tokens(page.calls)} />
      <Figure name="compactions" value={page.compactions} />
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

function Load({ page }: { page: SessionPage }) {
  const turns = useMemo(() => page.callList.filter(({ purpose }) => purpose === 'turn'), [page])
  const [agent, setAgent] = useState('')
  const shown = agent === '' ? turns : turns.filter((call) => call.agent === agent)
  const x = shown.map(({ number }) => number)
  const lines: Line[] = [
    { name: 'without compaction', values: shown.map(({ original }) => original), colour: '--original', isDashed: true },
    { name: 'sent', values: shown.map(({ prompt }) => prompt), colour: '--sent', isFilled: true },
    { name: 'from the cache', values: shown.map(({ usage }) => usage?.cacheRead ?? null), colour: '--cached' },
    { name: 'limit', values: shown.map(({ limit }) => limit ?? null), colour: '--limit', isStepped: true },
  ]
  const marks = page.compactionList
    .filter((each) => !each.undone && (agent === '' || each.agent === agent))
    .map((each) => ({ at: each.beforeCall, colour: each.forced ? '--limit' : '--mark' }))
  return (
    <>
      <Card
        title="Tokens per call"
        actions={page.agents.length > 1 && <AgentChoice page={page} value={agent} set={setAgent} />}
      >
        <Chart x={x} lines={lines} marks={marks} label={describe(shown, page.compactionList)} />
        <p class="dim">Dotted verticals are compactions.</p>
      </Card>
      <Composition calls={shown} />
      <details class="card">
        <summary>The same as a table</summary>
        <CallTable calls={shown} />
      </details>
    </>
  )
}

function AgentChoice({ page, value, set }: { page: SessionPage; value: string; set: (agent: string) => void }) {
  return (
    <select aria-label="Agent" value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">all agents</option>
      {page.agents.map((name) => (
        <option value={name}>{name}</option>
      ))}
    </select>
  )
}

function describe(calls: readonly PageCall[], compactions: readonly PageCompaction[]): string {
  const peak = Math.max(0, ...calls.map(({ prompt }) => prompt))
  const whole = Math.max(0, ...calls.map(({ original }) => original))
  return `${calls.length} calls. Largest prompt ${tokens(peak)} tokens; without compaction it would have been ${tokens(whole)}. ${compactions.length} compactions.`
}

const PALETTE = ['--part1', '--part2', '--part3', '--part4', '--part5', '--part6', '--part7', '--part8']
const MOST_PARTS = PALETTE.length

/** What the prompts are made of, stacked. The largest parts have a name of their own. */
function Composition({ calls }: { calls: readonly PageCall[] }) {
  const { names, layers } = useMemo(() => stacked(calls), [calls])
  if (names.length === 0) return null
  const last = calls.at(-1)
  const lines: Line[] = layers.map((values, index) => ({
    name: names[index]!,
    values,
    colour: PALETTE[index % PALETTE.length]!,
    isLayer: true,
  }))
  return (
    <Card title="What the prompts are made of">
      <Chart
        x={calls.map(({ number }) => number)}
        lines={lines.toReversed()}
        label={`Parts of the prompt: ${names.join(', ')}`}
        height={220}
      />
      {last !== undefined && (
        <ul class="parts">
          {names.map((name, index) => (
            <li>
              <i style={{ background: `var(${PALETTE[index % PALETTE.length]})` }} />
              {name} <b>{short(partIn(last, name, names))}</b>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const OTHER = 'other'

const partIn = ({ parts }: PageCall, name: string, names: readonly string[]): number =>
  name === OTHER
    ? Object.entries(parts).reduce((sum, [part, size]) => (names.includes(part) ? sum : sum + size), 0)
    : (parts[name] ?? 0)

function stacked(calls: readonly PageCall[]): { names: string[]; layers: number[][] } {
  const totals = new Map<string, number>()
  for (const { parts } of calls)
    for (const [name, size] of Object.entries(parts)) totals.set(name, (totals.get(name) ?? 0) + size)
  const byShare = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const names = byShare.length > MOST_PARTS ? [...byShare.slice(0, MOST_PARTS - 1), OTHER] : byShare
  const layers: number[][] = []
  names.forEach((name, index) => {
    layers.push(calls.map((call, at) => partIn(call, name, names) + (layers[index - 1]?.[at] ?? 0)))
  })
  return { names, layers }
}

function Compactions({ page, changed }: { page: SessionPage; changed: () => void }) {
  const { tenant, session } = page
  const [instructions, setInstructions] = useState('')
  const [to, setTo] = useState('')
  return (
    <>
      <Card title="Compact or fork">
        <div class="toolbar">
          <input
            aria-label="What the summary should keep"
            placeholder="What the summary should keep (optional)"
            value={instructions}
            onInput={(event) => setInstructions(event.currentTarget.value)}
          />
          <Action
            name="Compact with the next request"
            run={async () => {
              await post('session/compact', { tenant, session, instructions })
              return 'The next request of this session will be compacted.'
            }}
          />
        </div>
        <div class="toolbar">
          <input
            aria-label="Name of the fork"
            placeholder="Name of the fork"
            value={to}
            onInput={(event) => setTo(event.currentTarget.value)}
          />
          <Action
            name="Fork the session"
            run={async () =>
              `Forked as ${(await post<{ session: string }>('session/fork', { tenant, session, to })).session}.`
            }
          />
        </div>
      </Card>
      {page.compactionList.length === 0 && <Card title="No compaction yet">Everything was sent as it came.</Card>}
      {page.compactionList.toReversed().map((each) => (
        <Compaction key={each.id} of={each} page={page} changed={changed} />
      ))}
    </>
  )
}

function Compaction({ of: each, page, changed }: { of: PageCompaction; page: SessionPage; changed: () => void }) {
  const { tenant, session } = page
  const dropped = each.edits.reduce((sum, edit) => (edit.op === 'drop' ? sum + edit.to - edit.from : sum), 0)
  const replaced = each.edits.filter(({ op }) => op === 'replace').length
  return (
    <Card
      title={`Before call ${each.beforeCall}: ${tokens(each.before)} → ${tokens(each.after)} tokens`}
      actions={
        each.undone ? (
          <span class="badge">undone</span>
        ) : each.isStanding ? (
          <span class="badge good">in force</span>
        ) : undefined
      }
    >
      <dl class="figures">
        <Figure name="when" value={clock(each.at)} />
        <Figure name="why" value={each.reason} />
        <Figure name="policy" value={each.policy} />
        <Figure name="left out" value={`${dropped} items`} />
        <Figure name="shortened" value={`${replaced} items`} />
        {page.agents.length > 1 && <Figure name="agent" value={each.agent} />}
        <Figure name="id" value={<code>{each.id}</code>} />
      </dl>
      {each.recall !== undefined && <Recall of={each.recall} />}
      {each.undone && <p>The next request after the undo carries the original bytes again.</p>}
      <h3>What the model reads instead</h3>
      {each.record === '' ? (
        <p class="dim">No text was put in; items were left out or shortened in place.</p>
      ) : (
        <Text text={each.record} />
      )}
      <div class="toolbar">
        <a href={linkTo('session', { tenant, session, tab: 'request', epoch: each.id, agent: each.agent })}>
          What was taken out
        </a>
        {each.isStanding && (
          <Action
            name="Undo"
            isDangerous
            run={async () => {
              const { undone } = await post<{ undone?: string }>('session/undo', { tenant, session, agent: each.agent })
              changed()
              return undone === undefined
                ? 'There was nothing to undo.'
                : 'Undone: the next request carries the original bytes.'
            }}
          />
        )}
      </div>
    </Card>
  )
}

const RECALL: readonly (readonly [name: keyof RecordRecall, title: string])[] = [
  ['demands', 'what people wrote'],
  ['plan', 'open plan entries'],
  ['names', 'names in use'],
  ['paths', 'files'],
  ['errors', 'open errors'],
]

/** What the prompt still says of what was taken out of it. */
function Recall({ of: recall }: { of: RecordRecall }) {
  return (
    <>
      <h3>Still in the prompt</h3>
      <dl class="figures">
        {RECALL.map(([name, title]) => (
          <Figure key={name} name={title} value={percent(recall[name])} />
        ))}
      </dl>
    </>
  )
}

function Calls({ page }: { page: SessionPage }) {
  return (
    <Card title={`${tokens(page.calls)} calls`}>
      <CallTable calls={page.callList.toReversed()} />
    </Card>
  )
}

const CALLS_SHOWN = 300

function CallTable({ calls }: { calls: readonly PageCall[] }) {
  const [most, setMost] = useState(CALLS_SHOWN)
  return (
    <>
      <Table
        label="Calls"
        rows={calls.slice(0, most)}
        keyOf={({ number }) => String(number)}
        columns={[
          { name: 'call', isNumber: true, cell: ({ number }) => number },
          { name: 'when', cell: ({ at }) => clock(at) },
          { name: 'purpose', cell: ({ purpose, agent }) => (purpose === 'turn' ? agent : purpose) },
          { name: 'model', cell: ({ model }) => model },
          {
            name: 'sent',
            isNumber: true,
            cell: ({ prompt, isMeasured }) => `${isMeasured ? '' : '≈ '}${tokens(prompt)}`,
          },
          { name: 'without compaction', isNumber: true, cell: ({ original }) => tokens(original) },
          { name: 'limit', isNumber: true, cell: ({ limit }) => (limit === undefined ? '' : tokens(limit)) },
          { name: 'cached', isNumber: true, cell: ({ usage }) => (usage === undefined ? '' : tokens(usage.cacheRead)) },
          { name: 'answer', isNumber: true, cell: ({ usage }) => (usage === undefined ? '' : tokens(usage.output)) },
          { name: 'cost', isNumber: true, cell: ({ costUsd }) => (costUsd === undefined ? '' : dollars(costUsd)) },
        ]}
      />
      {calls.length > most && (
        <button class="link" onClick={() => setMost(most + CALLS_SHOWN)}>
          Show more of {tokens(calls.length)}
        </button>
      )}
    </>
  )
}

function Audit({ page }: { page: SessionPage }) {
  const { tenant } = page
  return (
    <Card title="Every cut, and where the original is">
      {page.cuts.length === 0 && <p>Nothing was cut.</p>}
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
