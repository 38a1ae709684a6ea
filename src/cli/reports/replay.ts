import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { insertedTexts } from '../../core/epochs.ts'
import type { Report, ReportLine, ReportPart, ReportSection } from '../../dashboard/page-types.ts'
import type { ReplayedSession, ReplayResult } from '../../lab/replay/replay.ts'
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

function replaySection(replayed: ReplayedSession, details: boolean): ReportSection {
  const { result, model, steps } = replayed
  const { calls, limit, epochs, costUsd, unmanagedCostUsd, cacheHitRate } = result
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
    ],
    parts: shown([
      replayedLoad(replayed),
      // Refused calls sent nothing.
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

/** The upper bound, which is what the limit is compared with. */
const largestOf = ({ steps }: Pick<ReplayedSession, 'steps'>): number =>
  steps.reduce((most, { load }) => Math.max(most, load), 0)

function replayedLoad(replayed: ReplayedSession): ReportPart | false {
  const { steps, result, epochs } = replayed
  // An epoch's `before` was measured under the previous epoch, so what both removed is added up.
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

const callTable = ({ steps }: ReplayedSession): ReportPart | false =>
  table(
    'Calls',
    ['call', 'tokens', 'limit', 'verdict'],
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

function checks({ result, steps }: ReplayedSession): ReportPart | false {
  const { overflows, doubtful, invalid, lost, refused, fixedLoad, summarizerCalls, peakLoad, limit, ms } = result
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
    text: `${given === '' ? 'no calls' : given}; ${plural(result.epochs, 'compaction')}, ${plural(summarizerCalls, 'summarizer call')}, peak ${grouped(peakLoad)} of ${grouped(limit)}; ${(ms / 1000).toFixed(1)} s`,
  })
  return linesPart('Checks', lines)
}

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
export function renderComparison(results: readonly ReplayResult[], screen: Pick<Screen, 'width' | 'colour'>): string {
  const paint = painterOf(screen)
  const groups = grouping(results)
  const files = new Set(results.map(({ file }) => file)).size
  const calls = results.reduce((sum, result) => sum + result.calls, 0) / Math.max(1, groups.size)
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
export function renderBySession(results: readonly ReplayResult[]): string {
  const keys = [...grouping(results).keys()]
  const files = new Map<string, Map<string, ReplayResult>>()
  for (const result of results) {
    const { file } = result
    files.set(file, (files.get(file) ?? new Map<string, ReplayResult>()).set(keyOf(result), result))
  }
  const cellOf = ({ costUsd, quoteRecall }: ReplayResult): string =>
    `${dollars(costUsd)} (${share100(1 - quoteRecall)} missed)`
  const rows = [...files].map(([file, own]) => [
    plainText(basename(file)),
    dollars([...own.values()][0]!.unmanagedCostUsd),
    ...keys.map((key) => (own.has(key) ? cellOf(own.get(key)!) : '')),
  ])
  return `${(aligned([['', 'unmanaged', ...keys], ...rows], Infinity) ?? []).join('\n')}\n`
}

/** Aligns names left and figures right; undefined when the table is wider than the screen. */
function aligned(table: readonly (readonly string[])[], width: number): readonly string[] | undefined {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ''))))
  if (widths.reduce((sum, one) => sum + one + 2, -2) > width) return undefined
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? padEnd : padStart)(cell, widths[column] ?? 0)).join('  '),
  )
}

const keyOf = ({ policy, window, aim }: ReplayResult): string => `${policy} ${short(window)} ${aim ?? ''}`.trim()

function grouping(results: readonly ReplayResult[]): Map<string, ReplayResult[]> {
  const groups = new Map<string, ReplayResult[]>()
  for (const result of results) groups.set(keyOf(result), [...(groups.get(keyOf(result)) ?? []), result])
  return groups
}

function cellsOf(group: readonly ReplayResult[]): readonly string[] {
  const sum = (pick: (result: ReplayResult) => number): number => group.reduce((total, one) => total + pick(one), 0)
  const calls = Math.max(
    1,
    sum((one) => one.calls),
  )
  const mean = (pick: (result: ReplayResult) => number): string => share100(sum((one) => pick(one) * one.calls) / calls)
  return [
    grouped(sum((one) => one.overflows)),
    grouped(sum((one) => one.invalid)),
    grouped(sum((one) => one.lost)),
    grouped(sum((one) => one.refused)),
    grouped(sum((one) => one.epochs)),
    mean((one) => one.quoteRecall),
    mean((one) => one.nameRecall),
    mean((one) => one.recoverableRecall),
    dollars(sum((one) => one.costUsd)),
    dollars(sum((one) => one.unmanagedCostUsd)),
    mean((one) => one.cacheHitRate),
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
