import { useState } from 'preact/hooks'
import type { RecordRecall } from '../../../../src/core/records.ts'
import type { CompactionPrice, PageCompaction, SessionPage } from '../../../../src/dashboard/page-types.ts'
import { post } from '../../api.ts'
import { clock, dollars, percent, tokens } from '../../format.ts'
import { Action, Card, Figure, Text } from '../../parts/basics.tsx'
import { linkTo } from '../../route.ts'

export function Compactions({ page, changed }: { page: SessionPage; changed: () => void }) {
  const { tenant, session } = page
  const [instructions, setInstructions] = useState('')
  const [to, setTo] = useState('')
  return (
    <>
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
      {page.compactionList.length === 0 && <Card title="No compaction yet">Every request was sent unchanged.</Card>}
      {page.compactionList.toReversed().map((each) => (
        <Compaction key={each.id} of={each} page={page} changed={changed} />
      ))}
    </>
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

function Compaction({ of: each, page, changed }: { of: PageCompaction; page: SessionPage; changed: () => void }) {
  const { tenant, session } = page
  const dropped = each.edits.reduce((sum, edit) => (edit.op === 'drop' ? sum + edit.to - edit.from : sum), 0)
  const replaced = each.edits.filter(({ op }) => op === 'replace').length
  return (
    <Card
      title={`Before call ${each.beforeCall}: ${tokens(each.before)} → ${tokens(each.counted ?? each.after)} tokens`}
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
      {each.price !== undefined && <Price of={each.price} />}
      {each.recall !== undefined && <Recall of={each.recall} />}
      {each.undone && <p>The next request after the undo carries the original bytes again.</p>}
      <h3>What the model reads instead</h3>
      {each.record === '' ? (
        <p class="dim">No text was added; items were removed or shortened in place.</p>
      ) : (
        <Text text={each.record} />
      )}
      <div class="toolbar">
        <a href={linkTo('session', { tenant, session, tab: 'request', epoch: each.id, agent: each.agent })}>
          What was removed
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

/** The cost of the prompt alone, at list prices. */
function Price({ of: { before, once, after } }: { of: CompactionPrice }) {
  return (
    <>
      <h3>Price of the prompt</h3>
      <dl class="figures">
        <Figure name="each call before, cached" value={dollars(before)} />
        <Figure name="first call after, rewritten" value={dollars(once)} />
        <Figure name="each later call, cached" value={dollars(after)} />
      </dl>
    </>
  )
}

const RECALL: readonly (readonly [name: keyof RecordRecall, title: string])[] = [
  ['demands', 'what people wrote'],
  ['plan', 'open plan entries'],
  ['names', 'names in use'],
  ['paths', 'files'],
  ['errors', 'open errors'],
]

/** How much of the removed history the prompt still says. */
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
