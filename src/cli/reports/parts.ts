import type { Thresholds } from '../../core/target.ts'
import type { LoadPart, ReportLine, ReportPart } from '../../dashboard/page-types.ts'
import { type Parted, stackedParts } from '../../dashboard/stacked-parts.ts'

interface LoadChart {
  readonly title: string
  /** Tokens of each call's prompt, as sent. */
  readonly sent: readonly number[]
  /** The prompts without any compaction. */
  readonly whole?: readonly number[]
  /** Left out when it is far above all values. */
  readonly line?: LoadPart['line']
  /** Where compaction starts and what it aims at, by call. */
  readonly thresholds?: readonly (Thresholds | undefined)[]
  /** Indexes of the calls right after a compaction. */
  readonly marks: readonly number[]
  readonly label: string
}

/** A chart of tokens by call; empty for a single call. */
export function loadChart({ title, sent, whole, line, thresholds = [], marks, label }: LoadChart): ReportPart | false {
  if (sent.length < 2) return false
  const peak = [...sent, ...(whole ?? [])].reduce((most, one) => Math.max(most, one), 1)
  const shownLine = line !== undefined && line.value <= peak * 4 ? line : undefined
  const known = filled(thresholds)
  const calls = marks.map((call) => Math.min(call, sent.length - 1) + 1)
  return {
    kind: 'load',
    title,
    label: calls.length === 0 ? label : `${label}; compaction before call ${calls.join(', ')}`,
    sent: sent.map(Math.round),
    whole: whole?.map(Math.round),
    line: shownLine,
    // The thresholds are below the limit: drawn without it, they would be the highest line.
    thresholds:
      shownLine === undefined || known.length === 0
        ? undefined
        : { high: known.map(({ high }) => Math.round(high)), low: known.map(({ low }) => Math.round(low)) },
    marks: calls,
  }
}

/** Fills gaps: a refused call has no thresholds and takes those of the call before, the first ones those of the first known call. */
function filled(thresholds: readonly (Thresholds | undefined)[]): readonly Thresholds[] {
  let last = thresholds.find((each) => each !== undefined)
  return last === undefined ? [] : thresholds.map((each) => (last = each ?? last!))
}

/** The number of colours in the page's style sheet. */
const MOST_PARTS = 8

export function composition(calls: readonly Parted[]): ReportPart | false {
  const parts = calls.length < 2 ? [] : stackedParts(calls, MOST_PARTS)
  const rounded = parts.map((part) => ({ ...part, tops: part.tops.map(Math.round) }))
  return parts.length > 0 && { kind: 'composition', title: 'What the prompts are made of', parts: rounded }
}

export const table = (
  title: string,
  heads: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): ReportPart | false => rows.length > 0 && { kind: 'table', title, heads, rows }

export const linesPart = (title: string, lines: readonly ReportLine[]): ReportPart | false =>
  lines.length > 0 && { kind: 'lines', title, lines }

/** Leaves out parts that are false. */
export const shown = (parts: readonly (ReportPart | false)[]): readonly ReportPart[] =>
  parts.filter((part) => part !== false)
