import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Loaded } from '../api.ts'
import type { Rows, SessionSummary } from '../../../src/dashboard/page-types.ts'
import { plural, short, tokens } from '../format.ts'

/** What a user should know of a session before its numbers. */
export function Badges({ of: figures }: { of: SessionSummary }) {
  const { replay, agents, halted, verdict, failed, recovered, withoutUsage, unpriced, calls } = figures
  const badges: readonly (readonly [text: string, look: string, title?: string])[] = [
    ...(replay === undefined
      ? []
      : [
          [
            `replay under ${replay.policy}, ${short(replay.window)}`,
            'changed',
            'Nothing was billed: prices are what it would have cost',
          ] as const,
        ]),
    ...(replay !== undefined && replay.done < replay.total
      ? [[`${tokens(replay.done)} of ${tokens(replay.total)} calls so far`, 'warn'] as const]
      : []),
    ...(agents.length > 1 ? [[plural(agents.length, 'agent'), ''] as const] : []),
    ...(halted !== undefined || verdict === 'halt' ? [['halted', 'bad', halted] as const] : []),
    ...(halted === undefined && verdict === 'final' ? [['closing answer', 'warn'] as const] : []),
    ...(failed > 0 ? [[plural(failed, 'failed call'), 'bad'] as const] : []),
    ...(recovered > 0 ? [[`${plural(recovered, 'overflow')} recovered`, 'warn'] as const] : []),
    ...(withoutUsage > 0 ? [[`${plural(withoutUsage, 'call')} without usage`, ''] as const] : []),
    ...(unpriced > 0
      ? [[unpriced === calls ? 'price unknown' : `${plural(unpriced, 'call')} without a price`, 'warn'] as const]
      : []),
  ]
  return (
    <span class="badges">
      {badges.map(([text, look, title]) => (
        <em class={`badge ${look}`} title={title}>
          {text}
        </em>
      ))}
    </span>
  )
}

/** A row of bars, each the share of the limit that the largest prompt of a stretch took. */
export const Sparkline = ({ values }: { values: readonly number[] }) => (
  <span class="spark" aria-hidden="true">
    {values.map((share) => (
      <i
        class={share > 1 ? 'over' : share > 0.9 ? 'high' : ''}
        style={{ height: `${Math.max(4, Math.min(100, 100 * share))}%` }}
      />
    ))}
  </span>
)

export function Problem({ of }: { of: Loaded<unknown> }) {
  if (of.error === undefined) return null
  return (
    <div class="problem" role="alert">
      <strong>{of.error.message}</strong>
      {of.error.advice !== undefined && <p>{of.error.advice}</p>}
    </div>
  )
}

export function Card({
  title,
  children,
  actions,
}: {
  title: string
  children: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  )
}

export function Figure({ name, value, hint }: { name: string; value: ComponentChildren; hint?: string }) {
  return (
    <div class="figure-box" title={hint}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

/** Long text, never interpreted as markup; only its beginning is shown until it is opened. */
export function Text({
  text,
  characters = text.length,
  open,
}: {
  text: string
  characters?: number
  open?: () => Promise<string>
}) {
  const [whole, setWhole] = useState<string>()
  const shown = whole ?? text
  return (
    <div class="text">
      <pre tabindex={0}>{shown}</pre>
      {whole === undefined && characters > text.length && open !== undefined && (
        <button class="link" onClick={() => void open().then(setWhole)}>
          Show all {tokens(characters)} characters
        </button>
      )}
    </div>
  )
}

export interface Column<T> {
  readonly name: string
  readonly isNumber?: boolean
  readonly cell: (row: T) => ComponentChildren
}

export function Table<T>({
  columns,
  rows,
  label,
  keyOf,
}: {
  columns: readonly Column<T>[]
  rows: readonly T[]
  label: string
  keyOf: (row: T) => string
}) {
  return (
    <div class="scroll" tabindex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={column.isNumber === true ? 'number' : ''}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td class={column.isNumber === true ? 'number' : ''} data-name={column.name}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Steps through rows that are fetched in pages, the newest first. */
export function Pages({ of: { total, from, rows }, go }: { of: Rows<unknown>; go: (from: number) => void }) {
  if (total <= rows.length) return null
  return (
    <div class="toolbar">
      <button disabled={from === 0} onClick={() => go(Math.max(0, from - ROWS))}>
        Newer
      </button>
      <span class="dim">
        {tokens(total - from - rows.length + 1)}–{tokens(total - from)} of {tokens(total)}
      </span>
      <button disabled={from + rows.length >= total} onClick={() => go(from + ROWS)}>
        Older
      </button>
    </div>
  )
}
/** As many as the server gives at once. */
const ROWS = 200

/** A button that shows the outcome of its action. */
export function Action({
  name,
  run,
  isDangerous,
}: {
  name: string
  run: () => Promise<string>
  isDangerous?: boolean
}) {
  const [said, setSaid] = useState('')
  const [busy, setBusy] = useState(false)
  const click = async (): Promise<void> => {
    setBusy(true)
    setSaid('')
    setSaid(await run().catch((error: Error) => error.message))
    setBusy(false)
  }
  return (
    <span class="action">
      <button class={isDangerous === true ? 'danger' : ''} disabled={busy} onClick={() => void click()}>
        {name}
      </button>
      <span role="status">{said}</span>
    </span>
  )
}

/** A choice of agent, for sessions with several. */
export function AgentChoice(props: {
  agents: readonly string[]
  /** The label of an additional entry for all agents. */
  all?: string
  value: string
  set: (agent: string) => void
}) {
  const { agents, all, value, set } = props
  if (agents.length < 2) return null
  return (
    <select aria-label="Agent" value={value} onChange={(event) => set(event.currentTarget.value)}>
      {all !== undefined && <option value="">{all}</option>}
      {agents.map((name) => (
        <option value={name}>{name}</option>
      ))}
    </select>
  )
}
