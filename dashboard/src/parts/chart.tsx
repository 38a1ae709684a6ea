import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
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
}

export interface Mark {
  /** A position on the x axis. */
  readonly at: number
  readonly colour: string
}

const colourOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Tokens by call, drawn on a canvas. Screen readers cannot read it, so its label is a sentence, and a session has a table of its calls. */
export function Chart({
  x,
  lines,
  marks = [],
  label,
  height = 260,
}: {
  x: readonly number[]
  lines: readonly Line[]
  marks?: readonly Mark[]
  label: string
  height?: number
}) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const drawn = useRef<readonly Mark[]>(marks)
  drawn.current = marks
  const shape = lines.map(({ name }) => name).join('\n')
  const isNear = useNear(box)
  useEffect(() => {
    const element = box.current
    if (element === null || !isNear) return undefined
    const axis = { stroke: colourOf('--dim'), grid: { stroke: colourOf('--grid'), width: 1 }, ticks: { show: false } }
    const chart = new uPlot(
      {
        width: element.clientWidth || 600,
        height,
        legend: { live: true },
        scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.06)] } },
        axes: [
          { ...axis, values: (_plot, splits) => splits.map((value) => (Number.isInteger(value) ? String(value) : '')) },
          { ...axis, size: 56, values: (_plot, splits) => splits.map(short) },
        ],
        series: [
          { label: 'call' },
          ...lines.map(({ name, colour, isDashed, isDotted, isFilled, isLayer, isStepped }) => ({
            label: name,
            stroke: colourOf(colour),
            width: isLayer === true ? 0.5 : 2,
            spanGaps: true,
            points: { show: false },
            value: (_plot: uPlot, value: number | null) => (value === null ? '–' : tokens(value)),
            dash: isDashed === true ? [6, 4] : isDotted === true ? [2, 4] : undefined,
            fill: isLayer === true ? colourOf(colour) : isFilled === true ? `${colourOf(colour)}33` : undefined,
            paths: isStepped === true ? uPlot.paths.stepped!({ align: 1 }) : undefined,
          })),
        ],
        hooks: {
          draw: [(self) => drawMarks(self, drawn.current)],
        },
      },
      [[...x], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData,
      element,
    )
    plot.current = chart
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      chart.destroy()
    }
  }, [shape, height, isNear])
  useEffect(() => {
    plot.current?.setData([[...x], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData)
  }, [x, lines, marks])
  return <div class="chart" ref={box} role="img" aria-label={label} style={{ minHeight: `${height}px` }} />
}

function drawMarks(plot: uPlot, marks: readonly Mark[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  for (const { at, colour } of marks) {
    const left = Math.round(plot.valToPos(at, 'x', true))
    ctx.strokeStyle = colourOf(colour)
    ctx.lineWidth = 2 * devicePixelRatio
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio])
    ctx.beginPath()
    ctx.moveTo(left, bbox.top)
    ctx.lineTo(left, bbox.top + bbox.height)
    ctx.stroke()
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
