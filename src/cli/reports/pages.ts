import { insertedTexts } from '../../core/epochs.ts'
import type { Thresholds } from '../../core/target.ts'
import type { LoadPart, Report, ReportPart, ReportSection } from '../../dashboard/page-types.ts'
import { type Parted, stackedParts } from '../../dashboard/stacked-parts.ts'
import { type Inspection, overviewOf } from '../../lab/inspect/inspect.ts'
import type { ReplayedSession } from '../../lab/replay/replay.ts'
import { dollars, grouped, percent, plainText, plural, short } from '../kit/figures.ts'
import { itemName, peakOf, shownSlices, sliceName, summaryOf, titleOf, usageOf } from './inspect.ts'
import { share100 } from './replay.ts'

/** What `inspect --html` shows. */
export function inspectPage(inspections: readonly Inspection[]): Report {
  const title = inspections.length === 1 ? titleOf(inspections[0]!) : plural(inspections.length, 'session')
  return {
    title: `Plimsoll inspect: ${title}`,
    heading: 'Where the tokens went',
    sections: [...(inspections.length > 1 ? [overviewSection(inspections)] : []), ...inspections.map(inspectSection)],
  }
}

function overviewSection(inspections: readonly Inspection[]): ReportSection {
  const overview = overviewOf(inspections)
  const cost = overview.costUsd === undefined ? '' : ` · ${dollars(overview.costUsd)} at list prices`
  return {
    title: 'All sessions',
    about: `${plural(overview.sessions, 'session')} · ${plural(overview.calls, 'call')}${cost}`,
    parts: shown([
      slices(overview),
      table(
        'By session',
        ['sent tokens', 'calls', 'peak', 'cost', 'session'],
        inspections.map((each) => [
          each.sentTokens,
          each.calls,
          each.growth.peak,
          each.costUsd === undefined ? '' : dollars(each.costUsd),
          titleOf(each),
        ]),
      ),
    ]),
  }
}

function inspectSection(inspection: Inspection): ReportSection {
  const { calls, growth, window, sentTokens, usage, costUsd, readAgain } = inspection
  return {
    title: titleOf(inspection),
    about: summaryOf(inspection),
    figures: [
      ['calls', grouped(calls)],
      ['largest prompt', window === undefined ? grouped(growth.peak) : `${grouped(growth.peak)} of ${grouped(window)}`],
      ['compactions', grouped(growth.compactedBefore.length)],
      ['tokens sent', short(sentTokens)],
      ...(usage === undefined ? [] : [['from the cache', percent(usage.cacheRead, usage.input)] as const]),
      ...(costUsd === undefined ? [] : [['cost at list prices', dollars(costUsd)] as const]),
    ],
    said: [peakOf(inspection), usageOf(inspection) ?? ''].join(' ').trim(),
    parts: shown([
      loadChart({
        title: 'Load per call',
        sent: growth.points.map(({ load, reported = load }) => reported),
        line: window === undefined ? undefined : { name: 'window', value: window },
        marks: growth.compactedBefore,
        label: `Load per call: peak ${grouped(growth.peak)} tokens at call ${growth.peakCall + 1}`,
      }),
      composition(
        Array.from({ length: calls }, (_, call) => ({
          parts: Object.fromEntries(inspection.composition.map((layer) => [layerName(layer), layer.tokens[call] ?? 0])),
        })),
      ),
      slices(inspection),
      table(
        'Largest items',
        ['tokens', 'times sent', 'sent tokens', 'item', 'line'],
        inspection.biggest.map((item) => {
          const { what, target } = itemName(item)
          return [item.tokens, item.timesSent, item.sentTokens, `${what} ${target}`.trim(), item.line]
        }),
      ),
      table(
        'Read again',
        ['reads', 'repeated tokens', 'sent tokens', 'file'],
        readAgain.map(({ path, reads, tokens, sentTokens: sent }) => [reads, tokens, sent, plainText(path)]),
      ),
      inspection.problems.length > 0 && {
        kind: 'problems',
        title: 'Problems',
        problems: inspection.problems.map(({ line, message }) => plainText(`line ${line}: ${message}`)),
      },
    ]),
  }
}

/** Results of the smaller tools stand together. */
const layerName = (layer: Inspection['composition'][number]): string =>
  layer.kind === 'results' && layer.tool === undefined ? 'results: other tools' : sliceName(layer)

function slices(inspection: Pick<Inspection, 'slices' | 'sentTokens'>): ReportPart {
  const { sentTokens } = inspection
  return {
    kind: 'bars',
    title: 'By kind',
    rows: shownSlices(inspection)
      .filter((slice) => slice.sentTokens > 0)
      .map((slice) => ({
        name: sliceName(slice),
        value: slice.sentTokens,
        label: `${short(slice.sentTokens)} sent · ${percent(slice.sentTokens, sentTokens)} · ${short(slice.tokens)} once in ${grouped(slice.items)}`,
      })),
  }
}

/** What `replay --html` shows: the chart, what each compaction did and put in, and what it cost. */
export function replayPage(sessions: readonly ReplayedSession[]): Report {
  const title = sessions.length === 1 ? plainText(sessions[0]!.result.file) : plural(sessions.length, 'replay')
  return {
    title: `Plimsoll replay: ${title}`,
    heading: 'What would have been sent',
    sections: [...(sessions.length > 1 ? [comparisonSection(sessions)] : []), ...sessions.map(replaySection)],
  }
}

function comparisonSection(sessions: readonly ReplayedSession[]): ReportSection {
  const rows = sessions.map(({ result, ...replayed }) => [
    result.policy,
    result.window,
    result.epochs,
    largestOf(replayed),
    share100(result.recoverableRecall),
    dollars(result.costUsd),
    dollars(result.unmanagedCostUsd),
    plainText(result.file),
  ])
  const heads = [
    'policy',
    'window',
    'compactions',
    'largest prompt, at most',
    'recoverable',
    'input',
    'without',
    'session',
  ]
  return {
    title: 'All replays',
    about: plural(sessions.length, 'replay'),
    parts: shown([table('By policy and window', heads, rows)]),
  }
}

function replaySection(replayed: ReplayedSession): ReportSection {
  const { result, model, steps } = replayed
  const { calls, limit, epochs, costUsd, unmanagedCostUsd, cacheHitRate, overflows, invalid, lost } = result
  const about = [result.format, model ?? '', `policy ${result.policy}`, `window ${grouped(result.window)}`]
  return {
    title: plainText(result.file),
    about: plainText(about.filter((text) => text !== '').join(' · ')),
    figures: [
      ['calls', grouped(calls)],
      ['largest prompt, at most', `${grouped(largestOf(replayed))} of ${grouped(limit)}`],
      ['compactions', grouped(epochs)],
      ['from the cache', share100(cacheHitRate)],
      ['price of the input', dollars(costUsd)],
      ['without compaction', dollars(unmanagedCostUsd)],
      ['saved', dollars(unmanagedCostUsd - costUsd)],
      ['overflows, invalid, lost', `${overflows}, ${invalid}, ${lost}`],
    ],
    parts: shown([
      replayedLoad(replayed),
      // Calls that were refused sent nothing.
      composition(steps.map(({ parts = {} }) => ({ parts }))),
      {
        kind: 'figures',
        title: 'What the next answer needed',
        figures: [
          ['lines it repeats, in the prompt', share100(result.quoteRecall)],
          ['names it uses, in the prompt', share100(result.nameRecall)],
          ['both, with what a tool can open', share100(result.recoverableRecall)],
        ],
      },
      compactions(replayed),
      table(
        'Taken out before the first send',
        ['call', 'bytes', 'shown', 'handle'],
        replayed.offloads.map(({ call, originalBytes, shownBytes, handle }) => [
          call + 1,
          originalBytes,
          shownBytes,
          handle,
        ]),
      ),
      table(
        'Refused',
        ['call', 'why'],
        steps.flatMap(({ call, error }) => (error === undefined ? [] : [[call + 1, plainText(error)]])),
      ),
    ]),
  }
}

/** As the limit is compared with: an upper bound. */
const largestOf = ({ steps }: Pick<ReplayedSession, 'steps'>): number =>
  steps.reduce((most, { load }) => Math.max(most, load), 0)

function replayedLoad(replayed: ReplayedSession): ReportPart | false {
  const { steps, result, epochs } = replayed
  // An epoch's `before` was measured with the one before it in place: what they took out adds up.
  let takenOut = 0
  const whole = steps.map(({ load, call }) => {
    for (const epoch of epochs) if (epoch.call === call) takenOut += Math.max(0, epoch.before - epoch.after)
    return load + takenOut
  })
  return loadChart({
    title: 'Tokens per call',
    sent: steps.map(({ load }) => load),
    whole: epochs.length > 0 ? whole : undefined,
    line: { name: 'limit', value: result.limit },
    thresholds: steps.map(({ thresholds }) => thresholds),
    marks: epochs.map(({ call }) => call),
    label: `Tokens per call: at most ${grouped(largestOf(replayed))} of ${grouped(result.limit)}, ${plural(epochs.length, 'compaction')}`,
  })
}

/** Each with the text that the model reads in place of what was taken out. */
function compactions({ epochs }: ReplayedSession): ReportPart | false {
  return (
    epochs.length > 0 && {
      kind: 'texts',
      title: 'Compactions',
      texts: epochs.map(({ call, edits, before, after, forced, reason }) => ({
        title: `Before call ${grouped(call + 1)}: ${grouped(before)} → ${grouped(after)} tokens${forced ? ', forced' : ''}`,
        about: reason,
        text: insertedTexts({ edits }).join('\n\n'),
      })),
    }
  )
}

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
function loadChart({ title, sent, whole, line, thresholds = [], marks, label }: LoadChart): ReportPart | false {
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

function composition(calls: readonly Parted[]): ReportPart | false {
  const parts = calls.length < 2 ? [] : stackedParts(calls, MOST_PARTS)
  const rounded = parts.map((part) => ({ ...part, tops: part.tops.map(Math.round) }))
  return parts.length > 0 && { kind: 'composition', title: 'What the prompts are made of', parts: rounded }
}

const table = (
  title: string,
  heads: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): ReportPart | false => rows.length > 0 && { kind: 'table', title, heads, rows }

/** A part without anything to show is left out. */
const shown = (parts: readonly (ReportPart | false)[]): readonly ReportPart[] => parts.filter((part) => part !== false)
