import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

const BEYOND = 8

/** Shows the rows that are in view, out of any number. All rows are equally high. */
export function VirtualList<T>(props: {
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly row: (row: T, index: number) => ComponentChildren
  readonly label: string
  /** Told which rows are in view. */
  readonly onView?: (rows: readonly T[]) => void
}) {
  const { rows, keyOf, row, label, onView } = props
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState(56)
  const [range, setRange] = useState({ from: 0, to: 40 })
  const look = (): void => {
    const element = box.current
    if (element === null) return
    const first = element.querySelector<HTMLElement>('[data-row]')
    const tall = first === null ? height : first.offsetHeight
    if (tall > 0 && tall !== height) setHeight(tall)
    const from = Math.max(0, Math.floor(element.scrollTop / tall) - BEYOND)
    const to = Math.min(rows.length, Math.ceil((element.scrollTop + element.clientHeight) / tall) + BEYOND)
    setRange((before) => (before.from === from && before.to === to ? before : { from, to }))
  }
  useLayoutEffect(look)
  useEffect(() => {
    addEventListener('resize', look)
    return () => removeEventListener('resize', look)
  })
  const shown = rows.slice(range.from, range.to)
  const shownKeys = shown.map(keyOf).join('\n')
  useEffect(() => onView?.(shown), [shownKeys, rows])
  return (
    <div class="virtual" ref={box} onScroll={look} role="list" aria-label={label} tabindex={0}>
      <div style={{ height: `${range.from * height}px` }} aria-hidden="true" />
      {shown.map((each, offset) => (
        <div
          role="listitem"
          data-row
          key={keyOf(each)}
          aria-setsize={rows.length}
          aria-posinset={range.from + offset + 1}
        >
          {row(each, range.from + offset)}
        </div>
      ))}
      <div style={{ height: `${Math.max(0, rows.length - range.to) * height}px` }} aria-hidden="true" />
    </div>
  )
}
