import type { SpendingPage, SpendingRow } from '../../../src/dashboard/page-types.ts'
import { get, useLoad } from '../api.ts'
import { dollars, percent, plural, short, tokens } from '../format.ts'
import { useChanges, type Subscribe } from '../live.ts'
import { Card, Figure, Problem, Table } from '../parts/basics.tsx'

/** Adding up all sessions takes time, so it is not done for every event. */
const EVERY_MS = 2_000

export function Spending({ subscribe }: { subscribe: Subscribe }) {
  const changes = useChanges(() => true, subscribe, EVERY_MS)
  const page = useLoad((signal) => get<SpendingPage>('spending', {}, signal), [changes])
  const value = page.value
  return (
    <>
      <Problem of={page} />
      {page.isLoading && value === undefined && <p role="status">Adding up all sessions …</p>}
      {value !== undefined && (
        <>
          <dl class="figures">
            <Figure name="spent" value={spentText(value.total)} hint={`Exactly $${value.total.costUsd}`} />
            <Figure name="calls" value={tokens(value.total.calls)} />
            <Figure name="sessions" value={tokens(value.sessions)} />
            <Figure
              name="prompt tokens"
              value={short(value.total.usage.input)}
              hint={tokens(value.total.usage.input)}
            />
            <Figure
              name="from the cache"
              value={
                value.total.usage.input === 0 ? '–' : percent(value.total.usage.cacheRead / value.total.usage.input)
              }
            />
            <Figure
              name="answer tokens"
              value={short(value.total.usage.output)}
              hint={tokens(value.total.usage.output)}
            />
          </dl>
          {value.budgets.length > 0 && (
            <Card title="Budgets">
              {value.unpricedModels.length > 0 && value.budgets.some(({ unit }) => unit === 'usd') && (
                <p class="bad">
                  A budget in dollars cannot apply to calls of {value.unpricedModels.join(', ')}: the price is not
                  known. Name it under <code>models:</code> in the settings file, or set a budget in tokens.
                </p>
              )}
              {value.budgets.map(({ name, used, of, unit }) => (
                <label class="budget">
                  <span>
                    {name}:{' '}
                    {unit === 'usd' ? `${dollars(used)} of ${dollars(of)}` : `${tokens(used)} of ${tokens(of)} tokens`}
                  </span>
                  <meter min={0} max={of} value={Math.min(used, of)} low={0.7 * of} high={0.9 * of} optimum={0} />
                </label>
              ))}
            </Card>
          )}
          {value.quotas.length > 0 && (
            <Card title="Rate limits and subscriptions">
              {value.quotas.flatMap(({ credential, windows }) =>
                windows.map(({ window, used, resetsAt }) => (
                  <label class="budget">
                    <span title={credential}>
                      {credential.slice(0, 10)}, {window}: {percent(used)}
                      {resetsAt === undefined ? '' : `, resets ${new Date(resetsAt).toLocaleString()}`}
                    </span>
                    <meter min={0} max={1} value={Math.min(used, 1)} low={0.7} high={0.9} optimum={0} />
                  </label>
                )),
              )}
            </Card>
          )}
          <Split title="By day" first="day" rows={value.byDay.toReversed()} />
          <Split title="By model" first="model" rows={value.byModel} />
          <Split title="By agent" first="agent" rows={value.byAgent} />
          <Split title="By key" first="key" rows={value.byKey} />
        </>
      )}
    </>
  )
}

const spentText = ({ costUsd, unpriced, calls }: Omit<SpendingRow, 'name'>): string =>
  unpriced === 0
    ? dollars(costUsd)
    : unpriced === calls
      ? 'unknown'
      : `${dollars(costUsd)} + ${plural(unpriced, 'call')} without a known price`

function Split({ title, first, rows }: { title: string; first: string; rows: readonly SpendingRow[] }) {
  const most = Math.max(...rows.map(({ costUsd }) => costUsd), 0)
  return (
    <Card title={title}>
      <Table
        label={title}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { name: first, cell: ({ name }) => name },
          {
            name: 'share',
            cell: ({ costUsd }) => (
              <div class="share">
                <i style={{ width: most === 0 ? '0' : `${(100 * costUsd) / most}%` }} />
              </div>
            ),
          },
          { name: 'cost', isNumber: true, cell: spentText },
          { name: 'calls', isNumber: true, cell: ({ calls }) => tokens(calls) },
          { name: 'prompt', isNumber: true, cell: ({ usage }) => short(usage.input) },
          {
            name: 'cached',
            isNumber: true,
            cell: ({ usage }) => (usage.input === 0 ? '' : percent(usage.cacheRead / usage.input)),
          },
          { name: 'answer', isNumber: true, cell: ({ usage }) => short(usage.output) },
        ]}
      />
    </Card>
  )
}
