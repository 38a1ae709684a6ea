import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { short, tokens } from '../format.ts'

export interface Line {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** The name of a custom property of the style sheet, which has a value for each colour scheme. */
  readonly colour: string
  readonly isDashed?: boolean
  readonly isDotted?: boolean
  readonly isFilled?: boolean
  /** One of several stacked layers: later layers are drawn over earlier ones. */
  readonly isLayer?: boolean
  readonly isStepped?: boolean
  /** What the read-out shows of a stacked layer: its own size. */
  readonly own?: readonly number[]
}

export interface Mark {
  /** A position on the x axis. */
  readonly at: number
  /** Forced ones are filled, planned ones are not. */
  readonly isForced: boolean
  readonly link?: string
}

interface ChartProps {
  readonly x: readonly number[]
  readonly lines: readonly Line[]
  readonly marks?: readonly Mark[]
  readonly label: string
  readonly height?: number
  /** The top of the chart; what is higher is cut, and its last value written. */
  readonly top?: number
  /** The place on the x axis that is looked at. @default the chart's own, the last */
  readonly at?: number
  readonly go?: (at: number) => void
}

const colourOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const DASHED = [6, 4]
const DOTTED = [2, 4]
const dashOf = ({ isDashed, isDotted }: Line): number[] | undefined =>
  isDashed === true ? DASHED : isDotted === true ? DOTTED : undefined
const CUT_TOP = 1.06
/** A click this near to a mark opens what it stands for. */
const NEAR_PIXELS = 10

/** Tokens by call, drawn on a canvas; arrow keys step through it, and the legend says what stands at that call. */
export function Chart({ x, lines, marks = [], label, height = 260, top, at, go }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [own, setOwn] = useState<number>()
  const [hovered, setHovered] = useState<number>()
  const last = x.length - 1
  const chosen = at ?? own ?? last
  const place = hovered ?? chosen
  const drawn = useRef({ marks, lines, top, chosen, x })
  drawn.current = { marks, lines, top, chosen, x }
  const shape = lines.map((line) => `${line.name} ${line.colour}`).join('\n')
  const isNear = useNear(box)
  const step = (to: number): void => (go ?? setOwn)(Math.max(0, Math.min(last, to)))
  useEffect(() => {
    const element = box.current
    if (element === null || !isNear) return undefined
    const chart = draw(element, height, drawn, setHovered)
    plot.current = chart
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const redraw = (): void => chart.redraw()
    dark.addEventListener('change', redraw)
    return () => {
      watch.disconnect()
      dark.removeEventListener('change', redraw)
      chart.destroy()
    }
  }, [shape, height, isNear])
  useEffect(() => {
    plot.current?.setData([[...x], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData)
  }, [x, lines, marks])
  useEffect(() => {
    lines.forEach(({ name }, index) => plot.current?.setSeries(index + 1, { show: !hidden.has(name) }))
  }, [hidden, shape, isNear])
  useEffect(() => plot.current?.redraw(false), [chosen, marks])
  const press = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: last }[event.key]
    if (to === undefined) return
    event.preventDefault()
    step(to)
  }
  const click = (event: MouseEvent): void => {
    const chart = plot.current
    if (chart === undefined) return
    const left = event.clientX - chart.over.getBoundingClientRect().left
    const mark = marks.find((one) => Math.abs(chart.valToPos(one.at, 'x') - left) < NEAR_PIXELS)
    if (mark?.link !== undefined) location.hash = mark.link
    else step(chart.posToIdx(left))
  }
  const legend = useMemo(() => lines.filter(({ isLayer }) => isLayer !== true || lines.length > 1), [lines])
  return (
    <div class="chart-box">
      <div
        class="chart"
        ref={box}
        role="img"
        tabindex={0}
        aria-label={label}
        style={{ minHeight: `${height}px` }}
        onKeyDown={press}
        onClick={click}
      />
      <div class="legend-line">
        <output class="at">call {x[place] === undefined ? '–' : tokens(x[place])}</output>
        {legend.map((line) => (
          <button
            class="entry"
            aria-pressed={!hidden.has(line.name)}
            onClick={() =>
              setHidden((before) => {
                const next = new Set(before)
                if (!next.delete(line.name)) next.add(line.name)
                return next
              })
            }
          >
            <svg viewBox="0 0 26 10" aria-hidden="true">
              {line.isLayer === true ? (
                <rect width="26" height="10" fill={`var(${line.colour})`} />
              ) : (
                <path
                  d="M0 5h26"
                  stroke={`var(${line.colour})`}
                  stroke-width="2.5"
                  stroke-dasharray={dashOf(line)?.join(' ')}
                />
              )}
            </svg>
            {line.name} <b>{valueText(line, place)}</b>
          </button>
        ))}
        {marks.some(({ isForced }) => !isForced) && <span class="entry">▽ planned compaction</span>}
        {marks.some(({ isForced }) => isForced) && <span class="entry">▼ forced compaction</span>}
      </div>
    </div>
  )
}

const valueText = ({ own, values }: Line, place: number): string => {
  const value = (own ?? values)[place]
  return value === null || value === undefined ? '–' : short(value)
}

interface Drawn {
  readonly marks: readonly Mark[]
  readonly lines: readonly Line[]
  readonly top: number | undefined
  readonly chosen: number
  readonly x: readonly number[]
}

function draw(
  element: HTMLElement,
  height: number,
  drawn: { readonly current: Drawn },
  hover: (place: number | undefined) => void,
): uPlot {
  const axis = {
    stroke: () => colourOf('--dim'),
    grid: { stroke: () => colourOf('--grid'), width: 1 },
    ticks: { show: false },
  }
  const { x, lines } = drawn.current
  return new uPlot(
    {
      width: element.clientWidth || 600,
      height,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: false },
        y: { range: (_plot, _low, high) => [0, drawn.current.top ?? Math.max(1, high * CUT_TOP)] },
      },
      axes: [
        { ...axis, values: (_plot, splits) => splits.map((value) => (Number.isInteger(value) ? String(value) : '')) },
        { ...axis, size: 56, values: (_plot, splits) => splits.map(short) },
      ],
      series: [
        { label: 'call' },
        ...lines.map((line) => ({
          label: line.name,
          stroke: () => colourOf(line.colour),
          width: line.isLayer === true ? 0.5 : 2,
          spanGaps: true,
          points: { show: false },
          dash: dashOf(line),
          fill:
            line.isLayer === true
              ? () => colourOf(line.colour)
              : line.isFilled === true
                ? () => `${colourOf(line.colour)}33`
                : undefined,
          paths: line.isStepped === true ? uPlot.paths.stepped!({ align: 1 }) : undefined,
        })),
      ],
      hooks: {
        setCursor: [({ cursor: { idx, left = -1 } }) => hover(left < 0 || idx === null ? undefined : idx)],
        draw: [(plot) => drawOver(plot, drawn.current)],
      },
    },
    [[...x], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData,
    element,
  )
}

/** Compactions, the call that is looked at, and the last value of a line that is cut. */
function drawOver(plot: uPlot, { marks, lines, top, chosen, x }: Drawn): void {
  const { ctx, bbox } = plot
  const scale = devicePixelRatio
  ctx.save()
  ctx.lineWidth = 1.5 * scale
  for (const { at, isForced } of marks) {
    const left = Math.round(plot.valToPos(at, 'x', true))
    ctx.strokeStyle = ctx.fillStyle = colourOf('--mark')
    ctx.setLineDash([2 * scale, 4 * scale])
    ctx.beginPath()
    ctx.moveTo(left, bbox.top + 10 * scale)
    ctx.lineTo(left, bbox.top + bbox.height)
    ctx.stroke()
    ctx.setLineDash([])
    ctx.beginPath()
    ctx.moveTo(left - 6 * scale, bbox.top)
    ctx.lineTo(left + 6 * scale, bbox.top)
    ctx.lineTo(left, bbox.top + 10 * scale)
    ctx.closePath()
    if (isForced) ctx.fill()
    else ctx.stroke()
  }
  const here = x[chosen]
  if (here !== undefined && chosen < x.length - 1) {
    const left = Math.round(plot.valToPos(here, 'x', true))
    ctx.strokeStyle = colourOf('--ink')
    ctx.lineWidth = scale
    ctx.beginPath()
    ctx.moveTo(left, bbox.top)
    ctx.lineTo(left, bbox.top + bbox.height)
    ctx.stroke()
  }
  const cut = lines.find(({ values }) => top !== undefined && (values.at(-1) ?? 0) > top)
  if (cut !== undefined) {
    ctx.font = `600 ${12 * scale}px system-ui, sans-serif`
    ctx.textAlign = 'right'
    ctx.textBaseline = 'top'
    const words = `↑ ${cut.name} ${short(cut.values.at(-1) ?? 0)}`
    const wide = ctx.measureText(words).width + 8 * scale
    ctx.fillStyle = colourOf('--card')
    ctx.fillRect(bbox.left + bbox.width - wide, bbox.top + 11 * scale, wide, 18 * scale)
    ctx.fillStyle = colourOf(cut.colour)
    ctx.fillText(words, bbox.left + bbox.width - 4 * scale, bbox.top + 14 * scale)
  }
  ctx.restore()
}

/** Whether the element has been near the visible area. A chart takes a megabyte, and a report may have hundreds. */
function useNear(box: RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && setNear(true), {
      rootMargin: '600px',
    })
    watch.observe(box.current!)
    return () => watch.disconnect()
  }, [])
  return isNear
}
