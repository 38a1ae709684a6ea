import { inspect, type Inspected } from './classify.ts'
import { eachEntry, isObjectAt, keyText } from '../../core/json/lexer.ts'
import { renderJsonWithin } from './json/json-view.ts'
import { byteLength } from './text.ts'
import type { About, Classified, HandlingMode, ShowReport, Size } from './types.ts'
import type { BodyView } from './views/view.ts'

const SAMPLE_KEYS = 3
const SAMPLE_CHARS = 100

/** Observability of one decision, in the words that AutoSRE and Cyber-AutoAgent use for it. */
export function reportOf(
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
    ...(result.truncated && result.view?.template !== undefined && { template_used: result.view.template }),
    original_items: original.items ?? 0,
    original_chars: original.chars,
    ...(processingMs !== undefined && { processing_ms: processingMs }),
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
export const aboutOf = ({ mime, encoding, lines, kind }: Classified, items: number | undefined): About => ({
  mime,
  encoding,
  lines,
  contentKind: kind,
  ...(items !== undefined && { items }),
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
  const original: Size = { bytes, chars, lines, ...(items !== undefined && { items }) }
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
    const value = renderJsonWithin(text, entry.start, { string: SAMPLE_CHARS, items: 3, keys: 3, depth: 2 }).text
    data[keyText(text, entry).slice(0, SAMPLE_CHARS)] = value.slice(0, SAMPLE_CHARS)
  })
  return { keys, data }
}
