import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Loaded } from '../api.ts'
import { dollars, percent, short, tokens } from '../format.ts'

/** A bar that shows the size of a prompt against its limit. */
export function LoadBar({ load, limit, window }: { load: number; limit: number; window: number }) {
  const scale = Math.max(window, limit, load, 1)
  const share = limit > 0 ? load / limit : 0
  const level = share > 1 ? 'over' : share > 0.9 ? 'high' : share > 0.7 ? 'warm' : 'calm'
  const label = limit > 0 ? `${tokens(load)} of ${tokens(limit)} tokens, ${percent(share)}` : `${tokens(load)} tokens`
  return (
    <div class="loadbar" role="img" aria-label={label} title={label}>
      <div class="track">
        <div class={`fill ${level}`} style={{ width: `${(100 * load) / scale}%` }} />
        {limit > 0 && <div class="line" style={{ left: `${(100 * limit) / scale}%` }} />}
      </div>
      <span class="figure" aria-hidden="true">
        {limit > 0 ? percent(share) : short(load)}
      </span>
    </div>
  )
}

export function Saved({ usd }: { usd: number | undefined }) {
  if (usd === undefined) return <span class="dim">–</span>
  return <span class={usd >= 0 ? 'good' : 'bad'}>{dollars(usd)}</span>
}

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
