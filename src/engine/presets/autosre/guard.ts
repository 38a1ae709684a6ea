import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { jsonLength, jsonText, parseStructure } from '../../intake/json/json-view.ts'
import { SRE_TRUNCATED, cutHead } from '../../intake/text.ts'
import type { DesignView } from '../design.ts'
import { integerOf, itemCount, type Environment, type IntakeTrigger } from '../shared.ts'
import { analyse } from './large-payload.ts'

/** The document's numbers. */
const MAX_CHARS = 200_000
const MAX_ITEMS = 500
const PREVIEW_CHARS = 100_000

/**
 * When a result is large for the policy. "false" in any case switches the handler off, any other value leaves it on, a number that is none is
 * the default; strictly above is large.
 */
export function autosreTriggers(env: Environment): IntakeTrigger {
  if (env['SRE_AGENT_LARGE_PAYLOAD_ENABLED']?.trim().toLowerCase() === 'false') return {}
  return {
    items: integerOf(env, 'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS', 50),
    chars: integerOf(env, 'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS', 100_000),
  }
}

/** The safety net stands behind the payload handler, whether that one is on, off or asked to let more through. */
export function autosreStops(text: string): boolean {
  if (text.length > MAX_CHARS) return true
  // A list of more items than that has at least a character and a comma for each.
  if (text.length <= 2 * MAX_ITEMS) return false
  const result = parseStructure(text)
  return Array.isArray(result) && result.length > MAX_ITEMS
}

/** Statistics or a sample for large data; then the safety net. The design counts an object's keys as items, and characters as JSON. */
export function autosreGuard(
  { items = Infinity, chars = Infinity, sandbox = true }: GuardRule,
  text: string,
  { handle, tool, readers }: Pick<PresentOptions, 'handle' | 'tool' | 'readers'>,
): DesignView {
  const result = parseStructure(text) ?? text
  const size = { original_items: itemCount(result), original_chars: jsonLength(result) }
  const isLarge = size.original_items > items || size.original_chars > chars
  const analysis = isLarge ? analyse(result, { tool, sandbox, handle, readers }) : undefined
  // What was not analysed keeps what the report says of it.
  if (analysis === undefined) return { text: withinLimits(result, handle), metadata: size }
  const { mode, template, content } = analysis
  const facts = { large_payload_handled: true, handling_mode: mode, ...size, tool_name: tool, full_output: handle }
  const metadata = { ...size, handling_mode: mode }
  return {
    text: withinLimits({ ...content, ...facts }, handle),
    metadata: template === undefined ? metadata : { ...metadata, template_used: template },
  }
}

/**
 * The safety net: text above 200,000 characters, lists above 500 items and objects above 200,000 characters of JSON are cut.
 *
 * Deviation: the original let 500 items of any size through. A list whose JSON is above the limit gives up items from its
 * end until it fits (promise 1, *fits*); a first item that is too large alone is shown as a preview like an object.
 */
function withinLimits(result: unknown, handle: string): string {
  if (typeof result === 'string') {
    if (result.length <= MAX_CHARS) return result
    return `${cutHead(result, MAX_CHARS)}\n${SRE_TRUNCATED} Full output: ${handle}`
  }
  const list: readonly unknown[] = Array.isArray(result) ? result : []
  const kept = withinChars(list.slice(0, MAX_ITEMS))
  // What was taken off a list stands beside it; everything else says so in itself.
  if (kept.length > 0 && kept.length < list.length) {
    const metadata = { truncated_count: list.length - kept.length, full_output: handle }
    return JSON.stringify({ result: kept, metadata })
  }
  const text = jsonText(result)
  if (text.length <= MAX_CHARS) return text
  return JSON.stringify({
    error: 'Result too large',
    message: `The result has ${text.length} characters and ${MAX_CHARS} fit. Use a filter, a shorter time range or a smaller page. The full result is stored as ${handle}.`,
    preview: `${cutHead(text, PREVIEW_CHARS)}...`,
  })
}

function withinChars(items: readonly unknown[]): readonly unknown[] {
  if (jsonLength(items) <= MAX_CHARS) return items
  let used = 2
  const over = items.findIndex((item) => (used += jsonLength(item) + 1) > MAX_CHARS)
  return over < 0 ? items : items.slice(0, over)
}
