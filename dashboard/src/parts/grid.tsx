import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Series } from '../../../src/dashboard/page-types.ts'
import { byKind, colourOf, gridOf, kindText, toolsOf } from '../../../src/meter/session/grid.ts'
import { percent, short, tokens } from '../format.ts'

export const colourVariable = (kind: string, tools: readonly string[]): string => `--k-${colourOf(kind, tools)}`

interface GridProps {
  readonly series: Series
  /** Numbers of the calls right after a compaction. */
  readonly compactedBefore: readonly number[]
  readonly at: number
  readonly go: (at: number) => void
}

/** What stood in the window at one call, cell by cell; arrow keys step, `[` and `]` jump between compactions. */
export function ContextGrid({ series, compactedBefore, at, go }: GridProps) {
  const last = series.calls.length - 1
  const tools = useMemo(() => toolsOf(series), [series])
  const partsAt = (place: number): readonly (readonly [string, number])[] =>
    Object.entries(series.parts)
      .map(([name, sizes]) => [name, sizes[place] ?? 0] as const)
      .filter(([, size]) => size > 0)
      .sort(([a], [b]) => byKind(a, b) || a.localeCompare(b))
  const compactions = compactedBefore.map((call) => series.calls.indexOf(call)).filter((place) => place >= 0)
  const isBefore = compactions.includes(at + 1)
  const parts = partsAt(at)
  const [limit, window] = [series.limit[at] ?? 0, series.window[at] ?? 0]
  const { cells, limitAt } = gridOf({ parts, limit, window, next: isBefore ? new Map(partsAt(at + 1)) : undefined })
  const sent = series.sent[at] ?? 0
  const jump = (step: number): void => {
    const found =
      step > 0 ? compactions.find((place) => place - 1 > at) : compactions.findLast((place) => place - 1 < at)
    if (found !== undefined) go(found - 1)
  }
  const press = (event: KeyboardEvent): void => {
    if (event.target instanceof HTMLInputElement && event.target.type !== 'range') return
    if (event.key === '[') jump(-1)
    else if (event.key === ']') jump(1)
    else if (event.key === 'ArrowLeft') go(Math.max(0, at - 1))
    else if (event.key === 'ArrowRight') go(Math.min(last, at + 1))
    else return
    event.preventDefault()
  }
  const said = `Call ${series.calls[at] ?? 0}: ${tokens(sent)} tokens of a limit of ${tokens(limit)}; ${parts.map(([name, size]) => `${kindText(name)} ${short(size)}`).join(', ')}`
  const used = parts.reduce((sum, [, size]) => sum + size, 0)
  const rest: readonly (readonly [string, number])[] = [
    ['free', Math.max(0, limit - used)],
    ['reserve', Math.max(0, window - limit)],
  ]
  return (
    <div class="context" onKeyDown={press}>
      <div class="grid" role="img" aria-label={said} tabindex={0}>
        {cells.map(({ kind, isLeaving }, place) => (
          <i
            class={`${kind === 'free' || kind === 'reserve' ? kind : ''}${isLeaving ? ' leaving' : ''}${place === limitAt - 1 ? ' at-limit' : ''}`}
            style={{ '--cell': `var(${colourVariable(kind, tools)})` }}
          />
        ))}
      </div>
      <ul class="legend">
        {[...parts, ...rest]
          .filter(([, size]) => size > 0)
          .map(([name, size]) => (
            <li>
              <i class={name} style={{ '--cell': `var(${colourVariable(name, tools)})` }} />
              <span>{kindText(name)}</span>
              <b>{short(size)}</b>
              <span class="dim">{percent(size, Math.max(window, 1))}</span>
            </li>
          ))}
      </ul>
      <div class="scrubber">
        <button aria-label="Compaction before" title="[" onClick={() => jump(-1)}>
          [
        </button>
        <input
          type="range"
          min={0}
          max={Math.max(0, last)}
          value={at}
          aria-label="Call"
          aria-valuetext={said}
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
        <button aria-label="Next compaction" title="]" onClick={() => jump(1)}>
          ]
        </button>
        <output>
          call {tokens(series.calls[at] ?? 0)}
          {isBefore ? ', the next one is compacted: hatched leaves' : ''}
        </output>
      </div>
    </div>
  )
}

/** The call that the page looks at; the newest while the session grows and no other call is chosen. */
export function useCall(series: Series): readonly [at: number, go: (at: number) => void] {
  const last = series.calls.length - 1
  const [chosen, setChosen] = useState<number>()
  useEffect(() => {
    if (chosen !== undefined && chosen > last) setChosen(undefined)
  }, [last])
  return [chosen ?? last, (at) => setChosen(at === last ? undefined : at)]
}
