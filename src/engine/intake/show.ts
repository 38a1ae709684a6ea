import { inspect, type Inspected } from './classify.ts'
import { renderJson } from './json/json-view.ts'
import { assemble, NOTICE_LEVELS, noticeText, type NoticeFacts, type NoticeLevel } from './notice.ts'
import { neutralise, sanitise } from './sanitise.ts'
import { byteLength, countLines } from './text.ts'
import type {
  Shown,
  ShowOptions,
  Size,
  BodyView,
  RenderedBody,
  About,
  Classified,
  HandlingMode,
  ShowReport,
} from './types.ts'
import { chooseView } from './views/index.ts'
import { eachEntry, isObjectAt, keyText } from '../../core/json/lexer.ts'

/** A token is rarely longer; text above this many characters per budgeted token is not even counted. */
const MAX_CHARS_PER_TOKEN = 12

/**
 * What a model gets to see of a tool's output: all of it when it fits, else the best view of its kind with a notice of
 * total size, what was left out, and how to read the rest. Never more than `budgetTokens` by the given counter.
 */
export function show(input: string | Uint8Array, options: ShowOptions): Shown {
  const started = options.now?.()
  const inspected = inspect(input)
  const whole = showWhole(inspected, options)
  const result = whole ?? showPart(inspected, options)
  const elapsed = started === undefined ? undefined : options.now!() - started
  return finish(inspected, result, elapsed)
}

interface Result {
  readonly text: string
  readonly body: string
  readonly tokens: number
  readonly truncated: boolean
  readonly json: boolean
  readonly view?: BodyView
  readonly rendered?: RenderedBody
}

/** As it is, or JSON without its white space. */
function showWhole({ source, json, classified }: Inspected, options: ShowOptions): Result | undefined {
  if (source.encoding === 'binary') return undefined
  const { budgetTokens, countTokens, knownHandles = [] } = options
  const { text } = source
  const limit = budgetTokens * MAX_CHARS_PER_TOKEN
  const fits = (candidate: string): Result | undefined => {
    const tokens = countTokens(candidate)
    return tokens <= budgetTokens
      ? {
          text: candidate,
          body: candidate,
          tokens,
          truncated: false,
          json: json !== undefined && classified.preamble === 0,
        }
      : undefined
  }
  if (text.length <= limit) {
    const found = fits(neutralise(sanitise(text), knownHandles))
    if (found !== undefined) return found
  }
  // Indented JSON may lose half its size without losing anything.
  if (json === undefined || classified.preamble > 0 || text.length > limit * 3) return undefined
  const compact = renderJson(text, json.root.start, limit)
  return compact?.whole === true && compact.text.length < text.length * 0.9
    ? fits(neutralise(compact.text, knownHandles))
    : undefined
}

function showPart(inspected: Inspected, options: ShowOptions): Result {
  const { budgetTokens, countTokens, knownHandles = [] } = options
  const view = chooseView(inspected, budgetTokens * MAX_CHARS_PER_TOKEN, (text) =>
    neutralise(sanitise(text), knownHandles),
  )
  const facts = factsOf(inspected, view, options)
  for (const level of levelsFor(facts, budgetTokens, countTokens)) {
    const fitted = fit(
      (chars) => {
        const rendered = view.render(chars)
        const notice = noticeText(level, { ...facts, holds: rendered.holds, leftOut: rendered.leftOut })
        const full = rendered.preface === undefined ? rendered.body : `${rendered.preface}\n${rendered.body}`
        return { value: rendered, text: assemble(view.syntax, notice, full) }
      },
      budgetTokens,
      countTokens,
    )
    if (fitted === undefined) continue
    const rendered = fitted.value
    return {
      text: fitted.text,
      body: rendered.body,
      tokens: fitted.tokens,
      truncated: true,
      json: view.syntax === 'json',
      view,
      rendered,
    }
  }
  return lastResort(facts, options, view)
}

/** A notice may take a part of the budget, not all of it: the smaller the room, the less it says. */
function levelsFor(facts: NoticeFacts, budget: number, countTokens: (text: string) => number): readonly NoticeLevel[] {
  const wordy = (level: NoticeLevel, share: number): boolean => countTokens(noticeText(level, facts)) > budget * share
  if (!wordy('full', 0.4)) return NOTICE_LEVELS
  return wordy('short', 0.6) ? NOTICE_LEVELS.slice(2) : NOTICE_LEVELS.slice(1)
}

/** Not even the handle fits: the handle as far as it goes would be a wrong address, so only the fact of a cut is told. */
function lastResort({ handle }: NoticeFacts, { budgetTokens, countTokens }: ShowOptions, view: BodyView): Result {
  const text = [handle ?? '[cut]', '[cut]', '…'].find((each) => countTokens(each) <= budgetTokens) ?? ''
  return { text, body: '', tokens: text === '' ? 0 : countTokens(text), truncated: true, json: false, view }
}

function factsOf({ classified, source }: Inspected, view: BodyView, options: ShowOptions): NoticeFacts {
  const { kind, format } = classified
  const digest = digestOf(source.encoding === 'binary' ? undefined : source.text, options)
  return {
    kind,
    format,
    original: sizeOf(classified, view.items),
    holds: '',
    leftOut: '',
    handle: options.handle,
    readers: options.handle === undefined ? [] : (options.readers ?? []),
    digest,
  }
}

const MAX_DIGEST_CHARS = 4_000_000

/** The registry's sentence about a known tool's result. */
function digestOf(text: string | undefined, { tool, registry }: ShowOptions): string | undefined {
  if (text === undefined || tool === undefined || registry?.has(tool) !== true || text.length > MAX_DIGEST_CHARS)
    return undefined
  try {
    const sentence = registry.summarise(tool, JSON.parse(text))
    return `${neutralise(sanitise(sentence)).slice(0, 300)}.`
  } catch {
    return undefined
  }
}

function sizeOf(classified: Inspected['classified'], items = classified.items): Size {
  const { bytes, chars, lines } = classified
  return { bytes, chars, lines, items }
}

function finish(inspected: Inspected, result: Result, elapsed: number | undefined): Shown {
  const { classified } = inspected
  const { kind, format } = classified
  const original = sizeOf(classified, result.view?.items)
  const bytes = byteLength(result.text)
  const shown: Size = {
    bytes,
    chars: result.text.length,
    lines: result.truncated ? (result.rendered?.lines ?? countLines(result.body)) : original.lines,
    items: original.items === undefined ? undefined : result.truncated ? (result.rendered?.items ?? 0) : original.items,
  }
  return {
    text: result.text,
    body: result.body,
    mime: result.json
      ? 'application/json'
      : result.view?.syntax === 'csv'
        ? 'text/csv'
        : result.truncated || kind === 'log'
          ? 'text/plain'
          : classified.mime,
    kind,
    format,
    truncated: result.truncated,
    tokens: result.tokens,
    original,
    shown,
    about: aboutOf(classified, original.items),
    report: reportOf(inspected, result, original, bytes, elapsed),
  }
}

/** The most that fits: rendering takes a size in characters, the limit is in tokens, and only counting tells. */
interface Fitted<T> {
  readonly value: T
  readonly text: string
  readonly tokens: number
}

/** Rounds of rendering and counting. Each is linear in the budget, so a view costs a small multiple of its own size. */
const MAX_ROUNDS = 8
const CHARS_PER_TOKEN = 3.2
/** Close enough: another round would cost more time than the tokens are worth. */
const GOOD_ENOUGH = 0.9

/**
 * `render(chars)` gives a value and its full text, whose growing part takes about `chars` characters. Returns the longest
 * rendering within `budget`, or undefined when not even `render(0)` fits.
 */
export function fit<T>(
  render: (chars: number) => { readonly value: T; readonly text: string },
  budget: number,
  countTokens: (text: string) => number,
): Fitted<T> | undefined {
  const smallest = render(0)
  const fixed = countTokens(smallest.text)
  let best: Fitted<T> | undefined = fixed <= budget ? { ...smallest, tokens: fixed } : undefined
  if (best === undefined) return undefined
  const room = budget - fixed
  let chars = Math.floor(room * CHARS_PER_TOKEN)
  let previous = { text: smallest.text, tokens: fixed }
  for (let round = 0; round < MAX_ROUNDS && chars > 0; round++) {
    const candidate = render(chars)
    if (candidate.text === previous.text) {
      // A view of few sizes: the same again says nothing new, unless it is still too large.
      if (previous.tokens <= budget) break
      chars = Math.floor(chars * 0.7)
      continue
    }
    const tokens = countTokens(candidate.text)
    previous = { text: candidate.text, tokens }
    if (tokens <= budget) {
      if (tokens > best.tokens) best = { ...candidate, tokens }
      if (tokens >= fixed + room * GOOD_ENOUGH) break
    }
    const used = Math.max(1, tokens - fixed)
    // Rendering is not linear in its size, so steps up are small and steps down leave a margin.
    chars = Math.floor(chars * Math.min(tokens <= budget ? 1.8 : 0.96, (room / used) * 0.97))
  }
  return best
}

const SAMPLE_KEYS = 3
const SAMPLE_CHARS = 100

/** Observability of one decision, in the words that AutoSRE and Cyber-AutoAgent use for it. */
function reportOf(
  { classified, json, source }: Inspected,
  result: { readonly truncated: boolean; readonly view?: BodyView },
  original: Size,
  shownBytes: number,
  processingMs: number | undefined,
): ShowReport {
  const text = source.encoding === 'utf-8' ? source.text : ''
  const object = json !== undefined && isObjectAt(text, json.root.start)
  const sample = result.truncated && object ? sampleKeys(text, json.root.start) : undefined
  return {
    large_payload_handled: result.truncated,
    handling_mode: result.truncated ? (result.view?.mode ?? 'head-tail') : 'none',
    template_used: result.truncated ? result.view?.template : undefined,
    original_items: original.items ?? 0,
    original_chars: original.chars,
    processing_ms: processingMs,
    compressed: result.truncated,
    original_size: original.bytes,
    compressed_size: shownBytes,
    compression_ratio: original.bytes === 0 ? 1 : Number((shownBytes / original.bytes).toFixed(3)),
    content_type: json === undefined ? 'text' : classified.preamble > 0 ? 'mixed' : 'json',
    n_original_keys: sample?.keys ?? null,
    sample_data: sample?.data ?? null,
  }
}

/** What an artifact's description says about its content. */
const aboutOf = ({ mime, encoding, lines, kind }: Classified, items: number | undefined): About => ({
  mime,
  encoding,
  lines,
  contentKind: kind,
  items,
})

/** The same observability for a text that was not shown by `show`: whole, by a design's guard, or only as its address. */
export function describeOutput(
  output: string | Uint8Array,
  shown: string,
  mode: HandlingMode,
  now?: () => number,
): { readonly report: ShowReport; readonly about: About } {
  const started = now?.()
  const inspected = inspect(output)
  const { bytes, chars, lines, items } = inspected.classified
  const original: Size = { bytes, chars, lines, items }
  const elapsed = started === undefined ? undefined : now!() - started
  const report = reportOf(inspected, { truncated: mode !== 'none' }, original, byteLength(shown), elapsed)
  return { report: { ...report, handling_mode: mode }, about: aboutOf(inspected.classified, items) }
}

/** First keys with their values as short texts. */
function sampleKeys(text: string, at: number): { keys: number; data: Record<string, string> } {
  const data: Record<string, string> = {}
  let keys = 0
  eachEntry(text, at, (entry) => {
    if (keys++ >= SAMPLE_KEYS) return
    const value = renderJson(text, entry.start, SAMPLE_CHARS)?.text ?? ''
    data[keyText(text, entry).slice(0, SAMPLE_CHARS)] = value.slice(0, SAMPLE_CHARS)
  })
  return { keys, data }
}
