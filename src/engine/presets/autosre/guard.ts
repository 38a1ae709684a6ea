import type { GuardRule } from '../../../core/policy.ts'
import { isRecord, recordOf } from '../../../core/values.ts'
import type { PresentOptions } from '../../deps.ts'
import { jsonLength, jsonText, parseStructure } from '../../intake/json/json-view.ts'
import { SRE_TRUNCATED, cutHead } from '../../intake/text.ts'
import type { DesignView } from '../design.ts'
import type { GuardCut, Guarded } from '../shared.ts'
import { handleLargePayload } from './large-payload.ts'

/** The document's numbers. */
const SRE_GUARD_DEFAULTS = { maxChars: 200_000, maxItems: 500, previewChars: 100_000 } as const

/** AutoSRE's safety net behind its payload handler. */
export interface SreGuardOptions {
  /** @default 200000 */
  readonly maxChars?: number
  /** @default 500 */
  readonly maxItems?: number
  /** @default 100000 */
  readonly previewChars?: number
  /** Address of the stored original, named beside the marker. */
  readonly handle?: string
}

/**
 * Cuts the `result` of a tool response: text above 200,000 characters, lists above 500 items, objects above 200,000
 * characters of JSON. Everything else of the response stays. What is not an object with a result passes untouched.
 *
 * Deviation: the original let 500 items of any size through. A list whose JSON is above the limit gives up items from its
 * end until it fits (promise 1, *fits*); a first item that is too large alone is shown as a preview like an object.
 */
export function guardSreResponse(response: unknown, options: SreGuardOptions = {}): Guarded<unknown> {
  if (!isRecord(response)) return { value: response, cuts: [] }
  const result = response['result']
  if (result === undefined || result === null) return { value: response, cuts: [] }
  if (typeof result === 'string') return guardText(response, result, options)
  if (Array.isArray(result)) return guardList(response, result, options)
  return isRecord(result) ? guardObject(response, result, options) : { value: response, cuts: [] }
}

function guardText(response: Record<string, unknown>, result: string, options: SreGuardOptions): Guarded<unknown> {
  const { maxChars = SRE_GUARD_DEFAULTS.maxChars, handle } = options
  if (result.length <= maxChars) return { value: response, cuts: [] }
  const kept = cutHead(result, maxChars)
  const where = handle === undefined ? '' : ` Full output: ${handle}`
  const text = `${kept}\n${SRE_TRUNCATED}${where}`
  return { value: { ...response, result: text }, cuts: [cut('string', result.length, kept.length, handle)] }
}

function guardList(
  response: Record<string, unknown>,
  result: readonly unknown[],
  options: SreGuardOptions,
): Guarded<unknown> {
  const { maxChars, maxItems, handle } = { ...SRE_GUARD_DEFAULTS, ...options }
  let kept = result.length > maxItems ? result.slice(0, maxItems) : result
  if (jsonLength(kept) > maxChars) kept = withinChars(kept, maxChars)
  if (kept.length === result.length) return { value: response, cuts: [] }
  if (kept.length === 0) return guardObject(response, result, options)
  const note = { truncated_count: result.length - kept.length, full_output: handle }
  return {
    value: { ...response, result: kept, metadata: { ...recordOf(response['metadata']), ...note } },
    cuts: [cut('list', result.length, kept.length, handle)],
  }
}

function withinChars(items: readonly unknown[], maxChars: number): readonly unknown[] {
  let used = 2
  const over = items.findIndex((item) => (used += jsonLength(item) + 1) > maxChars)
  return over < 0 ? items : items.slice(0, over)
}

function guardObject(response: Record<string, unknown>, result: object, options: SreGuardOptions): Guarded<unknown> {
  const { maxChars, previewChars, handle } = { ...SRE_GUARD_DEFAULTS, ...options }
  const text = jsonText(result)
  if (text.length <= maxChars) return { value: response, cuts: [] }
  const where = handle === undefined ? '' : ` The full result is stored as ${handle}.`
  const replaced = {
    error: 'Result too large',
    message: `The result has ${text.length} characters and ${maxChars} fit. Use a filter, a shorter time range or a smaller page.${where}`,
    preview: `${cutHead(text, previewChars)}...`,
  }
  return {
    value: { ...response, result: replaced },
    cuts: [cut('object', text.length, replaced.preview.length, handle)],
  }
}

const cut = (what: string, original: number, shown: number, handle: string | undefined): GuardCut => ({
  guard: 'autosre',
  what,
  original,
  shown,
  handle,
})

/** The safety net stands behind the payload handler, whether that one is on, off or asked to let more through. */
export function autosreStops(text: string): boolean {
  const { maxChars, maxItems } = SRE_GUARD_DEFAULTS
  if (text.length > maxChars) return true
  // A list of more items than that has at least a character and a comma for each.
  if (text.length <= 2 * maxItems) return false
  const result = parseStructure(text)
  return Array.isArray(result) && result.length > maxItems
}

/** Statistics or a sample for large data; then the safety net. The design counts an object's keys as items, and characters as JSON. */
export function autosreGuard(
  { items, chars, sandbox = true }: GuardRule,
  text: string,
  { handle, tool, readers }: PresentOptions,
): DesignView {
  const handled = handleLargePayload(
    { result: parseStructure(text) ?? text },
    {
      handle,
      sandbox,
      config: { enabled: true, thresholdItems: items ?? Infinity, thresholdChars: chars ?? Infinity },
      tool,
      tools: { run: readers.get('artifact_run'), read: readers.get('artifact_read') },
    },
  )
  const { value } = guardSreResponse(handled.response, { handle })
  const result = isRecord(value) ? value['result'] : value
  const metadata = (isRecord(value) && recordOf(value['metadata'])) || {}
  const { mode, size } = handled
  const template = metadata['template_used']
  // What was taken off a list stands beside it; everything else says so in itself.
  const isCutList = Array.isArray(result) && metadata['truncated_count'] !== undefined
  return {
    text: typeof result === 'string' ? result : JSON.stringify(isCutList ? value : result),
    metadata: {
      original_items: size.items,
      original_chars: size.chars,
      // What was not analysed keeps what the report says of it.
      ...(mode !== undefined && { handling_mode: mode }),
      ...(typeof template === 'string' && { template_used: template }),
    },
  }
}
