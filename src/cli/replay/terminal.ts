import { insertedTexts } from '../../core/epochs.ts'
import type { Epoch } from '../../core/records.ts'
import { columnChart } from '../inspect/chart.ts'
import { dollars, grouped, percent, plural, short } from '../inspect/figures.ts'
import { wrap } from '../inspect/terminal.ts'
import { fitEnd, fitWidth, padEnd, padStart, plainText } from '../inspect/width.ts'
import { painterOf, type Painter, type Screen } from '../kit/output.ts'
import type { LivedSession } from './replay-session.ts'

const ROWS_SHOWN = 12
const MAX_WIDTH = 120

export interface ReplayLook extends Pick<Screen, 'width' | 'colour'> {
  /** Every call, every epoch and every result that was taken out. @default false: the first ones and a count */
  readonly details?: boolean
}

/** One session under one policy, for a terminal. No line is wider than the terminal. */
export function renderReplay(lived: LivedSession, look: ReplayLook): string {
  const width = Math.max(20, Math.min(look.width, MAX_WIDTH))
  const paint = painterOf(look)
  const shown = look.details === true ? Infinity : ROWS_SHOWN
  const lines = [
    ...heading(lived, width, paint),
    ...section('Load per call', loadLine(lived, width, paint), paint),
    ...section('Compactions', epochs(lived, width, shown), paint),
    ...section('Taken out before the first send', offloads(lived, width, shown), paint),
    ...section(
      'Refused',
      refusals(lived, width, shown).map((line) => paint('red', line)),
      paint,
    ),
    ...(look.details === true ? section('Calls', calls(lived, width), paint) : []),
    ...(look.details === true ? records(lived, paint) : []),
    ...section('What compactions left', handover(lived, width), paint),
    ...section('What the next answer needed', recall(lived, width), paint),
    ...section('Price of the input', price(lived, width), paint),
    ...section('Checks', promises(lived, width, paint), paint),
  ]
  return `${lines.join('\n')}\n`
}

const section = (title: string, lines: readonly string[], paint: Painter): readonly string[] =>
  lines.length === 0 ? [] : ['', paint('bold', title), ...lines]

function heading({ result, model }: LivedSession, width: number, paint: Painter): readonly string[] {
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

function loadLine({ steps, result, epochs: declared }: LivedSession, width: number, paint: Painter): readonly string[] {
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

function epochs({ epochs: declared, log }: LivedSession, width: number, shown: number): readonly string[] {
  const records = new Map(log.flatMap((entry) => (entry.type === 'epoch' ? [[entry.id, entry] as const] : [])))
  const rows = declared.map(({ call, epoch, before, after, forced }) => {
    const figures = `${padStart(`call ${call + 1}`, 10)} ${padStart(short(before), 7)} → ${padEnd(short(after), 7)}`
    const record = records.get(epoch)
    const where = record === undefined ? '' : whereItWent(record)
    return fitWidth(`${figures} ${forced ? 'forced; ' : ''}${where}`, width)
  })
  return limited(rows, shown)
}

/** What an epoch took out, and under which address it stands now. */
function whereItWent({ edits }: Epoch): string {
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

function offloads({ offloads: taken }: LivedSession, width: number, shown: number): readonly string[] {
  const rows = taken.map(({ call, originalBytes, shownBytes, handle }) =>
    fitWidth(
      `${padStart(`call ${call + 1}`, 10)} ${padStart(`${short(originalBytes)}B`, 7)} → ${padEnd(`${short(shownBytes)}B`, 7)} ${handle}`,
      width,
    ),
  )
  return limited(rows, shown)
}

function refusals({ steps }: LivedSession, width: number, shown: number): readonly string[] {
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

const calls = ({ steps }: LivedSession, width: number): readonly string[] =>
  steps.map(({ call, load, limit, verdict, epoch }) =>
    fitWidth(
      `${padStart(String(call + 1), 6)} ${padStart(grouped(load), 10)} of ${grouped(limit)} ${padStart(percent(load, limit), 5)}  ${verdict ?? 'refused'}${epoch === undefined ? '' : `  ${epoch}`}`,
      width,
    ),
  )

function recall({ result }: LivedSession, width: number): readonly string[] {
  const rows: readonly (readonly [string, number, string])[] = [
    ['quotes', result.quoteRecall, 'of the lines it repeats still stood in the view'],
    ['names', result.nameRecall, 'of the paths, symbols and numbers it uses'],
    ['recoverable', result.recoverableRecall, 'of both, counting what a reader tool can open'],
  ]
  return rows.map(([what, share, means]) =>
    fitWidth(`${padEnd(what, 12)}${padStart(share100(share), 8)}  ${means}`, width),
  )
}

function handover({ result }: LivedSession, width: number): readonly string[] {
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

/** Each record as the model reads it; long lines are not cut, since somebody wants to read them. */
function records({ epochs: declared, log }: LivedSession, paint: Painter): readonly string[] {
  const found = new Map(log.flatMap((entry) => (entry.type === 'epoch' ? [[entry.id, entry] as const] : [])))
  return declared.flatMap(({ call, epoch }) => {
    const record = found.get(epoch)
    const texts = record === undefined ? [] : insertedTexts(record)
    return texts.length === 0 ? [] : section(`Record of call ${call + 1}`, texts.map(plainLines), paint)
  })
}

/** Whatever a transcript holds, it must not steer the terminal. */
const plainLines = (text: string): string => text.split('\n').map(plainText).join('\n')

function price({ result }: LivedSession, width: number): readonly string[] {
  const { costUsd, unmanagedCostUsd, cacheHitRate } = result
  const saved = unmanagedCostUsd === 0 ? 0 : 1 - costUsd / unmanagedCostUsd
  const against = `${dollars(costUsd)} against ${dollars(unmanagedCostUsd)} unmanaged (${saved >= 0 ? '−' : '+'}${share100(Math.abs(saved))})`
  return wrap(`${against}; ${share100(cacheHitRate)} of the prompt tokens from the cache.`, width)
}

function promises({ result, steps }: LivedSession, width: number, paint: Painter): readonly string[] {
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
