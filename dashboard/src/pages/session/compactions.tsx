import { useState } from 'preact/hooks'
import type { Receipt } from '../../../../src/core/records.ts'
import type { CompactionPage, SessionPage } from '../../../../src/dashboard/page-types.ts'
import type { CompactionRow } from '../../../../src/meter/session/figures.ts'
import { compactionText } from '../../../../src/meter/session/words.ts'
import { get, post, useLoad } from '../../api.ts'
import { clock, dollars, plural, short, tokens } from '../../format.ts'
import { Action, Card, Figure, Problem, Table, Text } from '../../parts/basics.tsx'
import { kindText } from '../../../../src/meter/session/grid.ts'
import { colourVariable } from '../../parts/grid.tsx'
import { linkTo } from '../../route.ts'

interface CompactionsProps {
  readonly page: SessionPage
  /** A recording cannot be changed. */
  readonly isRecorded: boolean
  /** The compaction that is opened. @default the newest */
  readonly open: string | undefined
  readonly changed: () => void
}

export function Compactions({ page, isRecorded, open, changed }: CompactionsProps) {
  const { compactionList } = page
  const opened = open ?? compactionList.at(-1)?.id
  return (
    <>
      {!isRecorded && <Change page={page} />}
      {compactionList.length === 0 && <Card title="No compaction yet">No request was compacted.</Card>}
      {compactionList.toReversed().map((each) => (
        <Compaction
          key={each.id}
          of={each}
          page={page}
          isOpen={each.id === opened}
          isRecorded={isRecorded}
          changed={changed}
        />
      ))}
    </>
  )
}

function Change({ page }: { page: SessionPage }) {
  const { tenant, session } = page
  const [instructions, setInstructions] = useState('')
  const [to, setTo] = useState('')
  return (
    <Card title="Compact or fork">
      <div class="toolbar">
        <Field
          name="What the summary should keep"
          hint=" (optional)"
          isWide
          value={instructions}
          set={setInstructions}
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
        <Field name="Name of the fork" value={to} set={setTo} />
        <Action
          name="Fork the session"
          run={async () =>
            `Forked as ${(await post<{ session: string }>('session/fork', { tenant, session, to })).session}.`
          }
        />
      </div>
    </Card>
  )
}

interface FieldProps {
  name: string
  /** Shown next to the name while the field is empty. */
  hint?: string
  isWide?: boolean
  value: string
  set: (value: string) => void
}

const Field = ({ name, hint = '', isWide = false, value, set }: FieldProps) => (
  <input
    class={isWide ? 'wide' : ''}
    aria-label={name}
    placeholder={name + hint}
    value={value}
    onInput={(event) => set(event.currentTarget.value)}
  />
)

interface CompactionProps {
  readonly of: CompactionRow
  readonly page: SessionPage
  readonly isOpen: boolean
  readonly isRecorded: boolean
  readonly changed: () => void
}

function Compaction({ of: each, page, isOpen, isRecorded, changed }: CompactionProps) {
  const { tenant, session } = page
  return (
    <Card
      title={`Before call ${each.beforeCall}: ${compactionText(each)}`}
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
        <Figure name="left out" value={plural(each.leftOut, 'item')} />
        <Figure name="shortened" value={plural(each.shortened, 'item')} />
        {page.agents.length > 1 && <Figure name="agent" value={each.agent} />}
        <Figure name="id" value={<code>{each.id}</code>} />
      </dl>
      {each.undone && <p>The next request after the undo carries the original bytes again.</p>}
      {isOpen ? (
        <Opened id={each.id} page={page} />
      ) : (
        <a href={linkTo('session', { tenant, session, tab: 'compactions', epoch: each.id })}>Open</a>
      )}
      <div class="toolbar">
        <a href={linkTo('session', { tenant, session, tab: 'request', epoch: each.id, agent: each.agent })}>
          What was removed
        </a>
        {each.isStanding && !isRecorded && (
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

/** The texts of one compaction, fetched when it is opened. */
function Opened({ id, page: { tenant, session, version } }: { id: string; page: SessionPage }) {
  const loaded = useLoad((signal) => get<CompactionPage>('compaction', { tenant, session, id }, signal), [version], id)
  const value = loaded.value
  return (
    <>
      <Problem of={loaded} />
      {value !== undefined && <Bars of={value} />}
      {value !== undefined && <Left of={value} tenant={tenant} session={session} />}
      {value?.price !== undefined && <Price of={value} />}
      {value?.receipt !== undefined && <ReceiptTable of={value.receipt} />}
      {value?.fetchedAgain !== undefined && (
        <p>
          Fetched again within 30 answers: {plural(value.fetchedAgain.results, 'result')},{' '}
          {tokens(value.fetchedAgain.tokens)} tokens, {dollars(value.fetchedAgain.costUsd)}.
        </p>
      )}
      <h3>What the model reads instead</h3>
      {value === undefined ? undefined : value.record === '' ? (
        <p class="dim">No text was added; items were removed or shortened in place.</p>
      ) : (
        <Text text={value.record} />
      )}
    </>
  )
}

/** The prompt by kind of content, before and after. */
function Bars({ of: { bars } }: { of: CompactionPage }) {
  const most = Math.max(1, ...bars.map(({ before, after }) => Math.max(before, after)))
  const tools = bars.flatMap(({ name }) => (name.startsWith('results') ? [name] : []))
  const width = (size: number): string => `${(100 * size) / most}%`
  return (
    <>
      <h3>Before and after, by kind</h3>
      <dl class="before-after">
        {bars.map(({ name, before, after }) => (
          <div style={{ '--cell': `var(${colourVariable(name, tools)})` }}>
            <dt>{kindText(name)}</dt>
            <dd class="pair-bar" aria-hidden="true">
              <i class="was" style={{ width: width(before) }} />
              <i style={{ width: width(after) }} />
            </dd>
            <dd class="number">
              {short(before)} → {short(after)}
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

/** What left, the largest first. */
function Left({
  of: { left, leftOut, shortened },
  tenant,
  session,
}: {
  of: CompactionPage
  tenant: string
  session: string
}) {
  if (left.length === 0) return null
  return (
    <>
      <h3>
        What left: {plural(leftOut, 'item')} left out, {tokens(shortened)} shortened
      </h3>
      <Table
        label="What left"
        rows={left}
        keyOf={({ identity, action }) => `${action} ${identity}`}
        columns={[
          {
            name: 'item',
            cell: ({ identity = '', kind, tool = kind, target, action }) => (
              <a href={linkTo('session', { tenant, session, tab: 'request', item: identity })}>
                {target === undefined ? tool : `${tool}: ${target}`}
                {action === 'left out' ? '' : ` (${action})`}
              </a>
            ),
          },
          { name: 'tokens', isNumber: true, cell: (row) => tokens(row.tokens) },
          { name: 'in the record', cell: ({ named }) => (named ? 'named' : 'not named') },
        ]}
      />
    </>
  )
}

/** Whether it was worth its price, at list prices. */
function Price({ of: { price, callsSince } }: { of: CompactionPage }) {
  const { before, once, after } = price!
  const [cost, saves] = [once - after, before - after]
  const calls = saves > 0 ? Math.ceil(cost / saves) : undefined
  return (
    <>
      <h3>Price of the prompt</h3>
      <p>
        ≈ {dollars(cost)} once, saves ≈ {dollars(saves)} a call
        {calls === undefined
          ? ', never paid back by the cache alone.'
          : `, paid back after ${plural(calls, 'call')}: ${callsSince >= calls ? 'reached' : `${tokens(callsSince)} so far`}.`}
      </p>
    </>
  )
}

const KINDS: Readonly<Record<keyof Receipt, string>> = {
  demands: 'what people wrote, by lines',
  decisions: 'decisions and reasons of the model',
  errors: 'errors of commands',
  files: 'files',
  commands: 'commands with an outcome',
  openItems: 'open entries of the plan',
}

const ReceiptTable = ({ of: receipt }: { of: Receipt }) => (
  <>
    <h3>Receipt</h3>
    <Table
      label="Receipt"
      rows={Object.entries(receipt) as [keyof Receipt, Receipt[keyof Receipt]][]}
      keyOf={([kind]) => kind}
      columns={[
        { name: 'of what it covers', cell: ([kind]) => KINDS[kind] },
        { name: 'in view', isNumber: true, cell: ([, { retained }]) => retained },
        { name: 'can be opened', isNumber: true, cell: ([, { recoverable }]) => recoverable },
        { name: 'archive only', isNumber: true, cell: ([, { missing }]) => missing },
        { name: 'out of date', isNumber: true, cell: ([, { stale }]) => stale },
      ]}
    />
  </>
)
