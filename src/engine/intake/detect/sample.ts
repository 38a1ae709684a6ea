import { sanitise } from '../sanitise.ts'
import { countLines } from '../text.ts'

/** Lines taken from the start, the middle and the end of a text: enough to tell its kind, whatever its size. */
export interface Sample {
  readonly text: string
  /** Not empty, without terminal codes, cut at 2,000 characters. */
  readonly lines: readonly string[]
  readonly from: number
  readonly totalLines: number
}

const HEAD_LINES = 150
const OTHER_LINES = 60
const LINE_CHARS = 2_000

export function takeSample(text: string, from: number): Sample {
  const totalLines = countLines(text, from)
  const lines = linesFrom(text, from, HEAD_LINES)
  if (totalLines > HEAD_LINES + 2 * OTHER_LINES) {
    lines.push(...linesFrom(text, nextLine(text, from + Math.floor((text.length - from) / 2)), OTHER_LINES))
    lines.push(...linesFrom(text, nextLine(text, Math.max(from, text.length - 8_000)), OTHER_LINES))
  }
  return { text, lines, from, totalLines }
}

const nextLine = (text: string, at: number): number => {
  const newline = text.indexOf('\n', at)
  return newline < 0 ? text.length : newline + 1
}

function linesFrom(text: string, from: number, count: number): string[] {
  const out: string[] = []
  let start = from
  // Empty lines count as looked at, so that a text of newlines ends too.
  for (let looked = 0; start < text.length && looked < count * 3 && out.length < count; looked++) {
    let end = text.indexOf('\n', start)
    if (end < 0) end = text.length
    const line = sanitise(text.slice(start, Math.min(end, start + LINE_CHARS)))
    if (line.trim() !== '') out.push(line)
    start = end + 1
  }
  return out
}

/** Share of sample lines that satisfy a test. */
export function share(sample: Sample, test: (line: string, index: number) => boolean): number {
  if (sample.lines.length === 0) return 0
  let count = 0
  sample.lines.forEach((line, index) => {
    if (test(line, index)) count++
  })
  return count / sample.lines.length
}

export interface Detection {
  readonly kind: import('../types.ts').ContentKind
  readonly format?: string
  readonly confidence: number
  readonly items?: number
}

export type Detector = (sample: Sample) => Detection | undefined
