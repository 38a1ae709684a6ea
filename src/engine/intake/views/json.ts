import type { JsonFound } from '../detect/json.ts'
import { Fields } from '../json/fields.ts'
import { eachEntry, eachItem, isArrayAt, isObjectAt, keyText, type Span } from '../../../core/json/lexer.ts'
import { renderJson, type JsonOptions } from '../json/json-view.ts'
import { eachJsonLine, eachRecord, type RecordList, type RecordVisitor } from '../json/records.ts'
import { logsTemplate } from '../logs/log-view.ts'
import type { Template } from '../templates/template.ts'
import { timeseriesTemplate } from '../templates/timeseries.ts'
import { counted, cutHead, grouped } from '../text.ts'
import type { ContentKind, BodyView, RenderedBody, ViewInput } from '../types.ts'
import { withinRoom } from './text.ts'
import { isRecord, textOf } from '../../../core/values.ts'

const TEMPLATES: Partial<Record<ContentKind, () => Template>> = {
  'time-series': timeseriesTemplate,
  log: logsTemplate,
}

/** Candidates at each end; more could not be shown within any budget that asks for a view. */
const MAX_SPANS = 2_000
const MAX_TROUBLED = 5
/** A record in less room than this would be a list of key names. */
const MIN_RECORD = 90

interface RecordSpan extends Span {
  readonly index: number
  readonly key?: string
}

/** Undefined when a piece of the text turns out not to be JSON. */
export function jsonView(input: ViewInput, json: JsonFound): BodyView | undefined {
  if (json.list === undefined) return objectView(input, json)
  const { list } = json
  return recordsView(input, list.form === 'map' ? 'map' : 'array', (visit) => eachRecord(input.text, list, visit), list)
}

export function jsonLinesView(input: ViewInput): BodyView | undefined {
  return recordsView(input, 'lines', (visit) => eachJsonLine(input.text, input.from, visit).records > 0)
}

/** One value that is no list: pruned to size, structure kept. */
function objectView(input: ViewInput, { root, items }: JsonFound): BodyView {
  const { text, clean } = input
  const scalar = !isObjectAt(text, root.start)
  return {
    syntax: 'json',
    mode: 'structured-sample',
    items,
    render(chars) {
      const before = beforeIt(input, chars)
      const head = before === undefined ? '' : `"${BEFORE}":${before}`
      const view = renderJson(text, root.start, chars - head.length)
      const inner = view === undefined ? '' : scalar ? `"value":${view.text}` : view.text.slice(1, -1)
      const body = clean(`{${[head, inner].filter((part) => part !== '').join(',')}}`)
      return {
        body,
        holds: view === undefined ? 'nothing' : 'its keys, with long values and lists cut where marked',
        leftOut: `about ${counted(Math.max(0, root.end - root.start - body.length), 'char')} of ${grouped(root.end - root.start)}`,
      }
    },
  }
}

const BEFORE = 'before_it'
const SHORT_LINE = 120

/** What stood before the JSON, as a JSON string: status lines whole, a tool's own header cut. */
function beforeIt({ text, from }: ViewInput, room: number): string | undefined {
  if (from === 0 || room < 40) return undefined
  const lines = text.slice(0, from).trim().split('\n')
  const short = lines.map((line) => (line.length > SHORT_LINE ? `${cutHead(line, SHORT_LINE)}…` : line))
  const kept = withinRoom(short, Math.max(60, Math.floor(room * 0.2)))
  return kept === '' ? undefined : JSON.stringify(kept)
}

function recordsView(
  input: ViewInput,
  form: 'array' | 'map' | 'lines',
  each: (visit: RecordVisitor) => boolean,
  list?: RecordList,
): BodyView | undefined {
  const { text, kind, clean } = input
  const template = TEMPLATES[kind]?.()
  const fields = new Fields()
  const first: RecordSpan[] = []
  const last: RecordSpan[] = []
  const troubled: RecordSpan[] = []
  let count = 0
  const valid = each((value, start, end, index, key) => {
    count++
    const span: RecordSpan = { start, end, index, key }
    if (first.length < MAX_SPANS) first.push(span)
    else last[index % MAX_SPANS] = span
    if (value === undefined) return
    template?.add(value)
    if (template === undefined) fields.add(value)
    if (troubled.length < MAX_TROUBLED && isTroubled(value)) troubled.push(span)
  })
  if (!valid) return undefined
  last.sort((a, b) => a.index - b.index)
  const ends = [...first, ...last.filter((span) => span !== undefined)]
  const summary = template === undefined ? undefined : JSON.stringify(template.finish())
  const report = template === undefined ? fields.report() : []
  const options: JsonOptions = {
    dull: new Set(report.filter((field) => field.constant).map((field) => field.path)),
  }

  return {
    syntax: 'json',
    mode: template === undefined ? 'structured-sample' : 'template',
    template: template?.name ?? 'generic',
    items: count,
    render(chars) {
      const parts: string[] = []
      let left = chars
      const put = (key: string, value: string | undefined): void => {
        if (value === undefined) return
        parts.push(`${JSON.stringify(key)}:${value}`)
        left -= value.length + key.length + 4
      }
      put(BEFORE, beforeIt(input, left))
      if (list !== undefined && list.path.length > 0 && left > 200) {
        put('list_at', JSON.stringify(list.path.join('.')))
        put('around_it', envelope(text, list, Math.floor(left * 0.12)))
      }
      if (summary !== undefined && left > 60) put('summary', renderJson(summary, 0, Math.floor(left * 0.75))?.text)
      if (report.length > 0 && left > 120) put('fields', fieldsText(report, Math.floor(left * 0.4)))
      const middle = troubled.filter((span) => span.index >= 3 && span.index < count - 1)
      if (middle.length > 0 && left > 400)
        put('records_with_errors', writeSpans(text, middle, Math.floor(left * 0.25), form, options).text)
      const samples = sampleEnds(text, ends, count, left, form, options)
      put(form === 'map' ? 'first_entries' : 'first_items', samples.head)
      put(form === 'map' ? 'last_entries' : 'last_items', samples.tail)
      return {
        body: clean(`{${parts.join(',')}}`),
        ...describe(
          samples,
          count,
          template === undefined ? 'field statistics' : 'a statistical summary',
          parts.length,
        ),
      }
    },
  }
}

function describe(samples: Samples, count: number, extra: string, parts: number): Omit<RenderedBody, 'body'> {
  const { heads, tails, whole } = samples
  const ranges = [
    ...(heads > 0 ? [heads === 1 ? '1' : `1-${grouped(heads)}`] : []),
    ...(tails > 0 ? [tails === 1 ? grouped(count) : `${grouped(count - tails + 1)}-${grouped(count)}`] : []),
  ]
  const items =
    ranges.length === 0 ? '' : `items ${ranges.join(' and ')} of ${grouped(count)}${whole ? '' : ' (long values cut)'}`
  const holds = parts === 0 ? 'nothing' : [extra, items].filter((part) => part !== '').join(', ')
  return { holds, leftOut: `${grouped(count - heads - tails)} of ${counted(count, 'item')}`, items: heads + tails }
}

interface Samples {
  readonly head?: string
  readonly tail?: string
  readonly heads: number
  readonly tails: number
  readonly whole: boolean
}

/** Whole records from both ends as far as the room goes; when not even one fits, the first is pruned. */
function sampleEnds(
  text: string,
  ends: readonly RecordSpan[],
  count: number,
  room: number,
  form: string,
  options: JsonOptions,
): Samples {
  if (room < 40 || ends.length === 0) return { heads: 0, tails: 0, whole: true }
  const head = writeSpans(text, ends, Math.floor(room * (count > 1 ? 0.72 : 1)), form, options)
  const rest = ends.slice(head.count).toReversed()
  const tail = writeSpans(text, rest, room - head.text.length, form, options, true)
  return {
    head: head.count > 0 ? head.text : undefined,
    tail: tail.count > 0 ? tail.text : undefined,
    heads: head.count,
    tails: tail.count,
    whole: head.whole && tail.whole,
  }
}

function writeSpans(
  text: string,
  spans: readonly RecordSpan[],
  room: number,
  form: string,
  options: JsonOptions,
  reverse = false,
): { text: string; count: number; whole: boolean } {
  const pieces: string[] = []
  let used = 2
  let whole = true
  // Three records that are cut tell more than one that is not.
  const each = Math.max(MIN_RECORD, Math.floor(room / 3))
  for (const span of spans) {
    const key = span.key === undefined ? '' : `${JSON.stringify(span.key.slice(0, 80))}:`
    const space = room - used - key.length - 1
    if (space < MIN_RECORD && space < span.end - span.start) break
    const view = renderJson(text, span.start, Math.min(each, space), options)
    if (view === undefined || used + view.text.length > room + MIN_RECORD) break
    pieces.push(key + view.text)
    used += key.length + view.text.length + 1
    whole &&= view.whole
    if (used >= room) break
  }
  if (reverse) pieces.reverse()
  return { text: form === 'map' ? `{${pieces.join(',')}}` : `[${pieces.join(',')}]`, count: pieces.length, whole }
}

function fieldsText(report: readonly { path: string; text: string }[], room: number): string {
  const pieces: string[] = []
  let used = 2
  const widest = Math.max(60, Math.floor(room / report.length) * 2)
  for (const { path, text } of report) {
    const short = text.length > widest ? `${cutHead(text, widest)}…` : text
    const piece = `${JSON.stringify(path)}:${JSON.stringify(short)}`
    if (used + piece.length > room - 30) break
    pieces.push(piece)
    used += piece.length + 1
  }
  if (pieces.length < report.length) pieces.push(`"…":"${counted(report.length - pieces.length, 'more field')}"`)
  return `{${pieces.join(',')}}`
}

/** What stands around the list: the other keys on the way to it. */
function envelope(text: string, list: RecordList, room: number): string | undefined {
  if (room < 40) return undefined
  const pieces: string[] = []
  let used = 2
  const visit = (at: number, depth: number, prefix: string): void => {
    const step = list.path[depth]
    if (step === undefined) return
    if (isArrayAt(text, at)) {
      eachItem(text, at, (start) => {
        visit(start, depth + 1, prefix)
        return false
      })
      return
    }
    let next: number | undefined
    eachEntry(text, at, (entry) => {
      const name = keyText(text, entry)
      if (name === step) next = entry.start
      else if (used < room) {
        const view = renderJson(text, entry.start, Math.min(400, room - used))
        if (view === undefined) return
        const piece = `${JSON.stringify(`${prefix}${name}`.slice(0, 120))}:${view.text}`
        pieces.push(piece)
        used += piece.length + 1
      }
      return used < room * 1.2 || next === undefined
    })
    if (next !== undefined) visit(next, depth + 1, `${prefix}${step}.`)
  }
  visit(list.root.start, 0, '')
  return pieces.length === 0 ? undefined : `{${pieces.join(',')}}`
}

const TROUBLE_KEYS = 'severity level status state phase result outcome conclusion type reason'.split(' ')
const TROUBLE =
  /^(?:error|err|fatal|critical|fail(?:ed|ure|ing)?|crash\w*|panic|emergency|alert|warning|unhealthy|denied|rejected|timeout|5\d\d)$/i

/** A record that says of itself that something is wrong. */
function isTroubled(value: unknown): boolean {
  if (!isRecord(value)) return false
  const error = value['error']
  if (error !== undefined && error !== null && error !== false && error !== '') return true
  return TROUBLE_KEYS.some((key) => TROUBLE.test(textOf(value[key])))
}
