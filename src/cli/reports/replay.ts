import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { insertedTexts } from '../../core/epochs.ts'
import type { Report, ReportLine, ReportPart, ReportSection } from '../../dashboard/page-types.ts'
import type { ReplayedSession, ReplayResult } from '../../lab/replay/replay.ts'
import { callRow, compactionsOf, recordOf, type SessionFigures } from '../../meter/session/figures.ts'
import {
  compactionText,
  costText,
  figureList,
  marked,
  savedText,
  tokensText,
  withoutCost,
} from '../../meter/session/words.ts'
import { displayWidth, dollars, fitEnd, grouped, padEnd, padStart, plainText, plural, short } from '../kit/figures.ts'
import { painterOf, type Screen } from '../kit/output.ts'
import { composition, linesPart, loadChart, shown, table } from './parts.ts'

/** A chart, the effect and the record of each compaction, and the cost. With details, also a line per call. */
export function replayReport(sessions: readonly ReplayedSession[], details = false): Report {
  const title = sessions.length === 1 ? plainText(sessions[0]!.result.file) : plural(sessions.length, 'replay')
  return {
    title: `Plimsoll replay: ${title}`,
    heading: 'What would have been sent',
    sections: [
      ...(sessions.length > 1 ? [comparisonSection(sessions)] : []),
      ...sessions.map((session) => replaySection(session, details)),
    ],
  }
}

function comparisonSection(sessions: readonly ReplayedSession[]): ReportSection {
  const rows = sessions.map(({ result, figures }) => [
    result.policy,
    result.window,
    figures.compactions,
    tokensText(figures.peak),
    share100(result.recoverableRecall),
    costText(figures),
    unmanagedText(figures),
    savedText(figures),
    plainText(result.file),
  ])
  const heads = [
    'policy',
    'window',
    'compactions',
    'largest prompt',
    'recoverable',
    'would cost',
    'without Plimsoll',
    'saved',
    'session',
  ]
  return {
    title: 'All replays',
    about: plural(sessions.length, 'replay'),
    parts: shown([table('By policy and window', heads, rows)]),
  }
}

function replaySection(replayed: ReplayedSession, details: boolean): ReportSection {
  const { result, model, steps, figures, log, composition: made } = replayed
  const about = [result.format, model ?? '', `policy ${result.policy}`, `window ${grouped(result.window)}`]
  return {
    title: plainText(result.file),
    about: plainText(about.filter((text) => text !== '').join(' · ')),
    figures: figureList(figures),
    parts: shown([
      replayedLoad(replayed),
      composition(log.calls.map((call) => ({ parts: Object.fromEntries(made.partsOf(call, callRow(call).sent)) }))),
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
        'Shortened before the first send',
        ['call', 'bytes', 'shown', 'handle'],
        replayed.offloads.map(({ call, originalBytes, shownBytes, handle }) => [
          call + 1,
          originalBytes,
          shownBytes,
          handle,
        ]),
      ),
      linesPart(
        'Refused',
        steps.flatMap(({ call, overflow, invalid, error = invalid ? 'invalid request' : overflow && 'overflow' }) =>
          error === false ? [] : [{ text: plainText(`call ${call + 1}: ${error}`), state: 'bad' }],
        ),
      ),
      details && callTable(replayed),
      handover(replayed),
      checks(replayed),
    ]),
  }
}

function replayedLoad({ log, figures, result }: ReplayedSession): ReportPart | false {
  const calls = log.calls.map(callRow)
  const { peak, limit, withoutPlimsoll } = figures
  const isLarger = calls.some(({ whole, sent }) => whole > sent)
  return loadChart({
    title: 'Tokens per call',
    sent: calls.map(({ sent }) => sent),
    whole: isLarger ? calls.map(({ whole }) => whole) : undefined,
    line: { name: 'limit', value: limit === 0 ? result.limit : limit },
    thresholds: calls.map(({ thresholds }) => thresholds),
    marks: compactionsOf(log).map(({ beforeCall }) => beforeCall - 1),
    label: `Tokens per call: at most ${tokensText(peak)} of ${grouped(limit)}, ${tokensText(withoutPlimsoll)} without Plimsoll, ${plural(figures.compactions, 'compaction')}`,
  })
}

const unmanagedText = (figures: SessionFigures): string => {
  const without = withoutCost(figures)
  return without === undefined ? 'unknown' : marked(without, dollars(without.value))
}

const callTable = ({ steps }: ReplayedSession): ReportPart | false =>
  table(
    'Calls',
    ['call', 'tokens at most', 'limit', 'verdict'],
    steps.map(({ call, load, limit, verdict = 'refused', epoch = '' }) => [
      call + 1,
      load,
      limit,
      `${verdict} ${epoch}`.trim(),
    ]),
  )

/** How much of the removed history the prompt still says after compactions, and how readable the record is. */
function handover({ result }: ReplayedSession): ReportPart | false {
  const { compactions, userKept, assistantKept, linesAlone, gapMarks, callsWithArgument, openItems } = result.handover
  return (
    compactions > 0 && {
      kind: 'figures',
      title: 'What compactions left',
      figures: [
        ['of what people wrote, in the prompt', share100(userKept)],
        ['of what the model said', share100(assistantKept)],
        ['of the plan entries that are not done', share100(openItems)],
        ['of the calls in the record, with what they were about', share100(callsWithArgument)],
        ['of its excerpt lines, without their neighbours', share100(linesAlone)],
        ['of its lines, only that something was left out', share100(gapMarks)],
      ],
    }
  )
}

function checks({ result, steps, figures }: ReplayedSession): ReportPart | false {
  const { overflows, doubtful, invalid, lost, refused, fixedLoad, summarizerCalls, limit, ms } = result
  const verdicts = new Map<string, number>()
  for (const { verdict = 'refused' } of steps) verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1)
  const given = [...verdicts].map(([kind, count]) => `${grouped(count)} ${kind}`).join(', ')
  const lines: ReportLine[] = [
    {
      text: `${overflows} overflows, ${invalid} invalid, ${lost} lost`,
      state: overflows + invalid + lost > 0 ? 'bad' : 'good',
    },
  ]
  if (doubtful > 0)
    lines.push({
      text: `${plural(doubtful, 'call')} may be too large: above the limit by the upper bound of the count, with nothing left to reduce`,
      state: 'bad',
    })
  if (refused > 0)
    lines.push({
      text: `${plural(refused, 'call')} refused with an error: instructions and tools alone take up to ${grouped(fixedLoad)} of the ${grouped(limit)} tokens that fit`,
      state: 'bad',
    })
  lines.push({
    text: `${given === '' ? 'no calls' : given}; ${plural(figures.compactions, 'compaction')}, ${plural(summarizerCalls, 'summarizer call')}, peak ${tokensText(figures.peak)} of ${grouped(limit)}; ${(ms / 1000).toFixed(1)} s`,
  })
  return linesPart('Checks', lines)
}

function compactions({ log }: ReplayedSession): ReportPart | false {
  const texts = new Map(log.epochs.map(({ epoch }) => [epoch.id, recordOf(epoch)]))
  const rows = compactionsOf(log, undefined, true)
  return (
    rows.length > 0 && {
      kind: 'texts',
      title: 'Compactions',
      texts: rows.map((row) => ({
        title: `Before call ${grouped(row.beforeCall)}: ${compactionText(row)}, ${plural(row.leftOut, 'item')} left out${row.forced ? ', forced' : ''}`,
        about: row.reason,
        text: texts.get(row.id) ?? '',
      })),
    }
  )
}

export const share100 = (share: number): string => `${(100 * share).toFixed(1)} %`

const HEAD = [
  'overflows',
  'invalid',
  'lost',
  'refused',
  'compactions',
  'quotes',
  'names',
  'recoverable',
  'price',
  'unmanaged',
  'cached',
]

/** One row per policy and window, over all files. Recalls are means over the calls. */
export function renderComparison(
  results: readonly ReplayedSession[],
  screen: Pick<Screen, 'width' | 'colour'>,
): string {
  const paint = painterOf(screen)
  const groups = grouping(results)
  const files = new Set(results.map(({ result }) => result.file)).size
  const calls = results.reduce((sum, { result }) => sum + result.calls, 0) / Math.max(1, groups.size)
  const title = paint('bold', `${plural(files, 'session')}, ${grouped(calls)} calls`)
  const rows = [...groups].map(([name, group]) => [name, ...cellsOf(group)])
  const table = [['', ...HEAD], ...rows]
  const turned = ['', ...HEAD].map((_, column) => table.map((row) => row[column] ?? ''))
  // If the measures do not fit side by side, the table is turned; if that does not fit either, each policy gets its own lines.
  const [heads, ...figures] = aligned(table, screen.width) ?? aligned(turned, screen.width) ?? []
  const lines =
    heads === undefined
      ? rows.flatMap(([name = '', ...cells]) => [
          paint('bold', fitEnd(name, screen.width)),
          ...cells.map((cell, column) => `  ${padEnd(HEAD[column] ?? '', 12)}${cell}`),
        ])
      : [paint('dim', heads), ...figures]
  return `${[title, ...lines].join('\n')}\n`
}

/** What each session costs under each aim, beside sending everything, with the share of what its answers quote that was not in view. */
export function renderBySession(results: readonly ReplayedSession[]): string {
  const keys = [...grouping(results).keys()]
  const files = new Map<string, Map<string, ReplayedSession>>()
  for (const one of results) {
    const { file } = one.result
    files.set(file, (files.get(file) ?? new Map<string, ReplayedSession>()).set(keyOf(one), one))
  }
  const cellOf = ({ figures, result }: ReplayedSession): string =>
    `${costText(figures)} (${share100(1 - result.quoteRecall)} missed)`
  const rows = [...files].map(([file, own]) => [
    plainText(basename(file)),
    unmanagedText([...own.values()][0]!.figures),
    ...keys.map((key) => (own.has(key) ? cellOf(own.get(key)!) : '')),
  ])
  return `${(aligned([['', 'without Plimsoll', ...keys], ...rows], Infinity) ?? []).join('\n')}\n`
}

/** Aligns names left and figures right; undefined when the table is wider than the screen. */
function aligned(table: readonly (readonly string[])[], width: number): readonly string[] | undefined {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ''))))
  if (widths.reduce((sum, one) => sum + one + 2, -2) > width) return undefined
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? padEnd : padStart)(cell, widths[column] ?? 0)).join('  '),
  )
}

const keyOf = ({ result: { policy, window, aim } }: ReplayedSession): string =>
  `${policy} ${short(window)} ${aim ?? ''}`.trim()

function grouping(results: readonly ReplayedSession[]): Map<string, ReplayedSession[]> {
  const groups = new Map<string, ReplayedSession[]>()
  for (const one of results) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one])
  return groups
}

function cellsOf(group: readonly ReplayedSession[]): readonly string[] {
  const sum = (pick: (one: ReplayedSession) => number): number => group.reduce((total, one) => total + pick(one), 0)
  const calls = Math.max(
    1,
    sum(({ result }) => result.calls),
  )
  const mean = (pick: (one: ReplayResult) => number): string =>
    share100(sum(({ result }) => pick(result) * result.calls) / calls)
  const without = group.map(({ figures }) => withoutCost(figures)?.value)
  const isPriced = without.every((usd) => usd !== undefined)
  return [
    grouped(sum(({ result }) => result.overflows)),
    grouped(sum(({ result }) => result.invalid)),
    grouped(sum(({ result }) => result.lost)),
    grouped(sum(({ result }) => result.refused)),
    grouped(sum(({ figures }) => figures.compactions)),
    mean((one) => one.quoteRecall),
    mean((one) => one.nameRecall),
    mean((one) => one.recoverableRecall),
    isPriced ? `≈ ${dollars(sum(({ figures }) => figures.cost?.value ?? 0))}` : 'unknown',
    isPriced ? `≈ ${dollars(without.reduce<number>((total, usd) => total + usd!, 0))}` : 'unknown',
    share100(
      sum(({ figures }) => figures.usage.cacheRead) /
        Math.max(
          1,
          sum(({ figures }) => figures.usage.input),
        ),
    ),
  ]
}

/** Writes each compaction's record to a file named after session, policy, window and call. */
export function dumpRecords(folder: string, { result, epochs: declared }: ReplayedSession): void {
  mkdirSync(folder, { recursive: true })
  for (const epoch of declared) {
    const texts = insertedTexts(epoch)
    if (texts.length === 0) continue
    const name = `${fileName(result.file)}.${result.policy}.${result.window}.call-${String(epoch.call + 1).padStart(4, '0')}.txt`
    writeFileSync(join(folder, name), `${texts.join('\n\n')}\n`)
  }
}

/** Session names come from outside: a file name gets only plain characters of the last part. */
const fileName = (file: string): string =>
  basename(file)
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '_')
