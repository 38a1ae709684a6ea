import type { Thresholds } from '../../core/target.ts'
import type { LoadPart, ReportLine, ReportPart } from '../../dashboard/page-types.ts'
import { type Parted, stackedParts } from '../../dashboard/stacked-parts.ts'

interface LoadChart {
  readonly title: string
  /** Tokens of each call's prompt, as sent. */
  readonly sent: readonly number[]
  /** What the prompts would have been without any compaction. */
  readonly whole?: readonly number[]
  /** Drawn where it is not far above everything. */
  readonly line?: LoadPart['line']
  /** Where compaction starts and what it aims at, by call. */
  readonly thresholds?: readonly (Thresholds | undefined)[]
  /** Calls, from 0, that a compaction came before. */
  readonly marks: readonly number[]
  readonly label: string
}

/** Tokens per call; nothing for a single call. */
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
    // Thresholds stand below the limit: without it in view they would stand alone above everything.
    thresholds:
      shownLine === undefined || known.length === 0
        ? undefined
        : { high: known.map(({ high }) => Math.round(high)), low: known.map(({ low }) => Math.round(low)) },
    marks: calls,
  }
}

/** A refused call has none: the ones before it hold on, and those that come first hold before. */
function filled(thresholds: readonly (Thresholds | undefined)[]): readonly Thresholds[] {
  let last = thresholds.find((each) => each !== undefined)
  return last === undefined ? [] : thresholds.map((each) => (last = each ?? last!))
}

/** As many as the page has colours for. */
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

/** A part without anything to show is left out. */
export const shown = (parts: readonly (ReportPart | false)[]): readonly ReportPart[] =>
  parts.filter((part) => part !== false)
