import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { insertedTexts } from '../../core/epochs.ts'
import type { ReplayedEpoch, ReplayedSession, ReplayResult } from '../../lab/replay/replay.ts'
import {
  columnChart,
  displayWidth,
  dollars,
  fitEnd,
  fitWidth,
  grouped,
  padEnd,
  padStart,
  percent,
  plainText,
  plural,
  short,
  wrap,
} from '../kit/figures.ts'
import { type Painter, painterOf, type Screen } from '../kit/output.ts'

const ROWS_SHOWN = 12
const MAX_WIDTH = 120

export interface ReplayLook extends Pick<Screen, 'width' | 'colour'> {
  /** Every call, every epoch and every result that was taken out. @default false: the first ones and a count */
  readonly details?: boolean
}

/** One session under one policy, for a terminal. No line is wider than the terminal. */
export function renderReplay(replayed: ReplayedSession, look: ReplayLook): string {
  const width = Math.max(20, Math.min(look.width, MAX_WIDTH))
  const paint = painterOf(look)
  const shown = look.details === true ? Infinity : ROWS_SHOWN
  const lines = [
    ...heading(replayed, width, paint),
    ...section('Load per call', loadLine(replayed, width, paint), paint),
    ...section('Compactions', epochs(replayed, width, shown), paint),
    ...section('Taken out before the first send', offloads(replayed, width, shown), paint),
    ...section(
      'Refused',
      refusals(replayed, width, shown).map((line) => paint('red', line)),
      paint,
    ),
    ...(look.details === true ? section('Calls', calls(replayed, width), paint) : []),
    ...(look.details === true ? records(replayed, paint) : []),
    ...section('What compactions left', handover(replayed, width), paint),
    ...section('What the next answer needed', recall(replayed, width), paint),
    ...section('Price of the input', price(replayed, width), paint),
    ...section('Checks', promises(replayed, width, paint), paint),
  ]
  return `${lines.join('\n')}\n`
}

const section = (title: string, lines: readonly string[], paint: Painter): readonly string[] =>
  lines.length === 0 ? [] : ['', paint('bold', title), ...lines]

function heading({ result, model }: ReplayedSession, width: number, paint: Painter): readonly string[] {
  const about = [
    result.format,
    ...(model === undefined ? [] : [model]),
    plural(result.calls, 'call'),
    plural(result.messages, 'message'),
  ]
  const under = `policy ${result.policy} · window ${grouped(result.window)} · limit ${grouped(result.limit)}`
  return [
    paint('bold', fitEnd(plainText(result.file), width)),
    ...wrap(plainText(about.join(' · ')), width).map((line) => paint('dim', line)),
    ...wrap(under, width).map((line) => paint('dim', line)),
  ]
}

function loadLine(
  { steps, result, epochs: declared }: ReplayedSession,
  width: number,
  paint: Painter,
): readonly string[] {
  if (steps.length < 2) return []
  const chart = columnChart(
    steps.map(({ load }) => load),
    { width, height: width < 60 ? 6 : 10, line: result.limit, marks: declared.map(({ call }) => call) },
  )
  const caption = [
    `${plural(steps.length, 'call')}, left to right`,
    `┄ limit ${short(result.limit)}`,
    ...(declared.length > 0 ? ['▲ compaction'] : []),
  ].join(' · ')
  return [
    ...chart.map((line) => (line.includes('┼') ? paint('cyan', line) : line)),
    ...wrap(caption, width).map((line) => paint('dim', line)),
  ]
}

function epochs({ epochs: declared }: ReplayedSession, width: number, shown: number): readonly string[] {
  const rows = declared.map(({ call, edits, before, after, forced }) => {
    const figures = `${padStart(`call ${call + 1}`, 10)} ${padStart(short(before), 7)} → ${padEnd(short(after), 7)}`
    return fitWidth(`${figures} ${forced ? 'forced; ' : ''}${whereItWent(edits)}`, width)
  })
  return limited(rows, shown)
}

/** What an epoch took out, and under which address it stands now. */
function whereItWent(edits: ReplayedEpoch['edits']): string {
  let folded = 0
  let kept = 0
  let stripped = 0
  const handles: string[] = []
  for (const edit of edits) {
    if (edit.op === 'drop') folded += edit.to - edit.from
    else if (edit.op === 'insert') kept += Buffer.byteLength(edit.text)
    else if (edit.op === 'strip') stripped += edit.to - edit.from
    else handles.push(edit.handle ?? 'shortened')
  }
  const parts = [
    ...(folded > 0
      ? [`${plural(folded, 'item')} → archive${kept > 0 ? `, ${short(kept)}B of facts and lines stay` : ''}`]
      : []),
    ...(stripped > 0 ? [`reasoning of ${plural(stripped, 'item')} → archive`] : []),
    ...(handles.length > 0
      ? [`${plural(handles.length, 'item')} → ${handles[0]}${handles.length > 1 ? ' …' : ''}`]
      : []),
  ]
  return parts.join('; ')
}

function offloads({ offloads: taken }: ReplayedSession, width: number, shown: number): readonly string[] {
  const rows = taken.map(({ call, originalBytes, shownBytes, handle }) =>
    fitWidth(
      `${padStart(`call ${call + 1}`, 10)} ${padStart(`${short(originalBytes)}B`, 7)} → ${padEnd(`${short(shownBytes)}B`, 7)} ${handle}`,
      width,
    ),
  )
  return limited(rows, shown)
}

function refusals({ steps }: ReplayedSession, width: number, shown: number): readonly string[] {
  const rows = steps.flatMap(({ call, overflow, invalid, error }) =>
    overflow || invalid || error !== undefined
      ? [wrap(`call ${call + 1}: ${error ?? (invalid ? 'invalid request' : 'overflow')}`, width)]
      : [],
  )
  // A sentence over several lines each: the first few say it all.
  const most = Math.min(rows.length, Math.ceil(shown / 4))
  const rest = rows.length - most
  return [...rows.slice(0, most).flat(), ...(rest > 0 ? [`… and ${grouped(rest)} more (--details shows all)`] : [])]
}

const calls = ({ steps }: ReplayedSession, width: number): readonly string[] =>
  steps.map(({ call, load, limit, verdict, epoch }) =>
    fitWidth(
      `${padStart(String(call + 1), 6)} ${padStart(grouped(load), 10)} of ${grouped(limit)} ${padStart(percent(load, limit), 5)}  ${verdict ?? 'refused'}${epoch === undefined ? '' : `  ${epoch}`}`,
      width,
    ),
  )

function recall({ result }: ReplayedSession, width: number): readonly string[] {
  const rows: readonly (readonly [string, number, string])[] = [
    ['quotes', result.quoteRecall, 'of the lines it repeats still stood in the view'],
    ['names', result.nameRecall, 'of the paths, symbols and numbers it uses'],
    ['recoverable', result.recoverableRecall, 'of both, counting what a reader tool can open'],
  ]
  return rows.map(([what, share, means]) =>
    fitWidth(`${padEnd(what, 12)}${padStart(share100(share), 8)}  ${means}`, width),
  )
}

function handover({ result }: ReplayedSession, width: number): readonly string[] {
  const { compactions, userKept, assistantKept, linesAlone, gapMarks, callsWithArgument, openItems } = result.handover
  if (compactions === 0) return []
  const rows: readonly (readonly [string, number, string])[] = [
    ['user', userKept, 'of what people wrote is in view right after'],
    ['model', assistantKept, 'of what the model said'],
    ['plan', openItems, 'of the entries that are not done'],
    ['calls', callsWithArgument, 'of the calls in the record name what they were about'],
    ['alone', linesAlone, 'of its excerpt lines are without their neighbours'],
    ['gaps', gapMarks, 'of its lines say only that something was left out'],
  ]
  return rows.map(([what, share, means]) =>
    fitWidth(`${padEnd(what, 12)}${padStart(share100(share), 8)}  ${means}`, width),
  )
}

/** Each record as the model reads it; long lines are not cut, since people asked to read them. */
const records = ({ epochs: declared }: ReplayedSession, paint: Painter): readonly string[] =>
  declared.flatMap((epoch) => {
    const texts = insertedTexts(epoch).map(plainLines)
    return texts.length === 0 ? [] : section(`Record of call ${epoch.call + 1}`, texts, paint)
  })

/** Text of a transcript must not steer the terminal. */
const plainLines = (text: string): string => text.split('\n').map(plainText).join('\n')

function price({ result }: ReplayedSession, width: number): readonly string[] {
  const { costUsd, unmanagedCostUsd, cacheHitRate } = result
  const saved = unmanagedCostUsd === 0 ? 0 : 1 - costUsd / unmanagedCostUsd
  const against = `${dollars(costUsd)} against ${dollars(unmanagedCostUsd)} unmanaged (${saved >= 0 ? '−' : '+'}${share100(Math.abs(saved))})`
  return wrap(`${against}; ${share100(cacheHitRate)} of the prompt tokens from the cache.`, width)
}

function promises({ result, steps }: ReplayedSession, width: number, paint: Painter): readonly string[] {
  const {
    overflows,
    doubtful,
    invalid,
    lost,
    refused,
    fixedLoad,
    epochs: declared,
    summarizerCalls,
    peakLoad,
    limit,
    ms,
  } = result
  const broken = overflows + invalid + lost > 0
  const verdicts = new Map<string, number>()
  for (const { verdict = 'refused' } of steps) verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1)
  const given = [...verdicts].map(([kind, count]) => `${grouped(count)} ${kind}`).join(', ')
  return [
    ...wrap(`${overflows} overflows, ${invalid} invalid, ${lost} lost`, width).map((line) =>
      paint(broken ? 'red' : 'green', line),
    ),
    ...(doubtful === 0
      ? []
      : wrap(
          `${plural(doubtful, 'call')} may be too large: above the limit by the upper bound of the count, with nothing left to reduce`,
          width,
        ).map((line) => paint('yellow', line))),
    ...(refused === 0
      ? []
      : wrap(
          `${plural(refused, 'call')} refused with an error: instructions and tools alone take up to ${grouped(fixedLoad)} of the ${grouped(limit)} tokens that fit`,
          width,
        ).map((line) => paint('yellow', line))),
    ...wrap(
      `${given === '' ? 'no calls' : given}; ${plural(declared, 'compaction')}, ${plural(summarizerCalls, 'summarizer call')}, peak ${grouped(peakLoad)} of ${grouped(limit)}; ${(ms / 1000).toFixed(1)} s`,
      width,
    ),
  ]
}

function limited(rows: readonly string[], shown: number): readonly string[] {
  const rest = rows.length - shown
  return rest <= 0 ? rows : [...rows.slice(0, shown), `… and ${grouped(rest)} more (--details shows all)`]
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
  // Where the measures do not fit side by side the policies may; else each policy has lines of its own.
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

/** Names to the left, figures to the right; undefined when that is too wide. */
function aligned(table: readonly (readonly string[])[], width: number): readonly string[] | undefined {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ''))))
  if (widths.reduce((sum, one) => sum + one + 2, -2) > width) return undefined
  return table.map((row) =>
    row.map((cell, column) => (column === 0 ? padEnd : padStart)(cell, widths[column] ?? 0)).join('  '),
  )
}

const keyOf = ({ policy, window }: ReplayResult): string => `${policy} ${short(window)}`

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

/** Writes what each compaction put in to a file of its own, named after session, policy, window and call. */
export function dumpRecords(folder: string, { result, epochs: declared }: ReplayedSession): void {
  mkdirSync(folder, { recursive: true })
  for (const epoch of declared) {
    const texts = insertedTexts(epoch)
    if (texts.length === 0) continue
    const name = `${fileName(result.file)}.${result.policy}.${result.window}.call-${String(epoch.call + 1).padStart(4, '0')}.txt`
    writeFileSync(join(folder, name), `${texts.join('\n\n')}\n`)
  }
}

/** Names of sessions come from outside: only plain characters of the last part become a file name. */
const fileName = (file: string): string =>
  basename(file)
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '_')
