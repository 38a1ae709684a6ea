import { useEffect, useRef, useState } from 'preact/hooks'
import type {
  ConversationPage,
  ConversationRow,
  InsertedRow,
  SessionPage,
} from '../../../../src/dashboard/page-types.ts'
import { get, post, useLoad } from '../../api.ts'
import { tokens } from '../../format.ts'
import { Action, AgentChoice, Card, Problem, Text } from '../../parts/basics.tsx'
import { linkTo, placeOf } from '../../route.ts'

const PAGE = 100

/** The client's conversation on the left, and what is sent of it on the right. */
export function Conversation({ page }: { page: SessionPage }) {
  const { tenant, session } = page
  const { query } = placeOf(location.hash)
  const [agent, setAgent] = useState(query['agent'] ?? page.agents.at(-1) ?? 'main')
  const [from, setFrom] = useState<number>()
  const epoch = query['epoch']
  const item = from === undefined ? query['item'] : undefined
  // Opens the last page first, because the newest items are at the end of the next request.
  const start = from ?? Math.max(0, Math.floor((page.items - 1) / PAGE) * PAGE)
  const loaded = useLoad(
    (signal) =>
      get<ConversationPage>(
        'conversation',
        {
          tenant,
          session,
          agent,
          from: epoch !== undefined && from === undefined ? 0 : start,
          limit: PAGE,
          epoch,
          item,
        },
        signal,
      ),
    [start, page.version],
    JSON.stringify([tenant, session, agent, epoch, query['item']]),
  )
  const value = loaded.value
  return (
    <Card
      title={epoch === undefined ? 'The conversation, and what is sent of it' : `Under compaction ${epoch}`}
      actions={
        <span class="toolbar">
          <AgentChoice agents={page.agents} value={agent} set={setAgent} />
          {epoch !== undefined && <a href={linkTo('session', { tenant, session, tab: 'request' })}>as it is now</a>}
        </span>
      }
    >
      <Problem of={loaded} />
      {value !== undefined && (
        <>
          <Pager from={value.from} total={value.total} go={setFrom} />
          <ol class="conversation" start={value.from + 1}>
            {value.rows.flatMap((row) => [
              ...value.inserted
                .filter(({ place }) => place === row.place)
                .map((each) => <Inserted key={`in${each.place}`} of={each} />),
              <Row key={row.place} of={row} page={page} agent={agent} isWanted={row.identity === item} />,
            ])}
          </ol>
          <Pager from={value.from} total={value.total} go={setFrom} />
        </>
      )}
    </Card>
  )
}

function Pager({ from, total, go }: { from: number; total: number; go: (from: number) => void }) {
  if (total <= PAGE) return null
  return (
    <div class="toolbar">
      <button disabled={from === 0} onClick={() => go(Math.max(0, from - PAGE))}>
        Earlier
      </button>
      <span class="dim">
        {from + 1}–{Math.min(total, from + PAGE)} of {tokens(total)} items
      </span>
      <button disabled={from + PAGE >= total} onClick={() => go(from + PAGE)}>
        Later
      </button>
    </div>
  )
}

const Inserted = ({ of: { text, reason, role } }: { of: InsertedRow }) => (
  <li class="pair inserted">
    <div class="client dim">not in the client's request</div>
    <div class="sent">
      <div class="meta">
        <b>added by Plimsoll</b> as {role} · {reason}
      </div>
      <Text text={text} />
    </div>
  </li>
)

interface RowProps {
  readonly of: ConversationRow
  readonly page: SessionPage
  readonly agent: string
  /** A link led here. */
  readonly isWanted: boolean
}

function Row({ of: row, page, agent, isWanted }: RowProps) {
  const place = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!isWanted) return
    place.current?.scrollIntoView({ block: 'center' })
    place.current?.focus({ preventScroll: true })
  }, [isWanted])
  const { tenant, session } = page
  const open = async (): Promise<string> =>
    (await get<{ text: string }>('item', { tenant, session, identity: row.identity })).text
  const [bytes, setBytes] = useState<string>()
  const [pinned, setPinned] = useState(row.pinned)
  return (
    <li ref={place} tabindex={-1} class={`pair ${row.fate.replace(' ', '-')}${isWanted ? ' wanted' : ''}`}>
      <div class="client">
        <div class="meta">
          <b>{row.tool === undefined ? row.kind : `${row.kind}: ${row.tool}`}</b> {tokens(row.tokens)} tokens
          <button
            class="link"
            onClick={() =>
              void get<{ fragment: string }>('item', { tenant, session, identity: row.identity }).then(({ fragment }) =>
                setBytes(fragment),
              )
            }
          >
            exact bytes
          </button>
          <Action
            name={pinned ? 'Unpin' : 'Pin'}
            run={async () => {
              await post('session/pin', { tenant, session, agent, identity: row.identity, pinned: !pinned })
              setPinned(!pinned)
              return ''
            }}
          />
        </div>
        <Text text={bytes ?? row.text} characters={bytes === undefined ? row.characters : bytes.length} open={open} />
      </div>
      <div class="sent">
        <div class="meta">
          <span class={`badge ${row.fate === 'sent' ? 'good' : 'changed'}`}>{row.fate}</span> {row.reason}
          {row.handle !== undefined && <a href={linkTo('artifacts', { tenant, handle: row.handle })}>{row.handle}</a>}
        </div>
        {row.shown !== undefined && <Text text={row.shown} />}
      </div>
    </li>
  )
}
