import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { jsonLength, jsonText, parseStructure } from '../../intake/json/json-view.ts'
import { SRE_TRUNCATED, cutHead } from '../../intake/text.ts'
import type { DesignView } from '../design.ts'
import { answerIn, asText, integerOf, itemCount, type Environment, type IntakeTrigger } from '../shared.ts'
import { analyse, type Analysis } from './large-payload.ts'

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
  const result = foundIn(text).found
  return Array.isArray(result) && result.length > MAX_ITEMS
}

/** What a tool found, and how its answer is written with something else in its place. */
function foundIn(text: string) {
  const value = parseStructure(text)
  const answer = answerIn(value)
  // Where the bulk stands beside the result, all of the answer is what has to give way.
  if (answer === undefined || jsonLength(answer.with('', {})) > MAX_CHARS)
    return { found: value ?? text, whole: undefined }
  return { found: answer.found, whole: answer.with }
}

/** Statistics or a sample for large data; then the safety net. The design counts an object's keys as items, and characters as JSON. */
export function autosreGuard(
  { items = Infinity, chars = Infinity, sandbox = true }: GuardRule,
  text: string,
  { handle, tool, readers }: Pick<PresentOptions, 'handle' | 'tool' | 'readers'>,
): DesignView {
  const { found, whole } = foundIn(text)
  const size = { original_items: itemCount(found), original_chars: jsonLength(found) }
  const isLarge = size.original_items > items || size.original_chars > chars
  const analysis = isLarge ? analyse(found, { tool, sandbox, handle, readers }) : undefined
  const within = withinLimits(
    analysis === undefined
      ? found
      : { ...analysis.content, ...factsOf(analysis, size), tool_name: tool, full_output: handle },
    handle,
  )
  // What was not analysed keeps what the report says of it; what is within all limits keeps its bytes.
  const metadata = analysis === undefined ? size : { ...size, ...modeOf(analysis) }
  if (analysis === undefined && within.left === undefined) return { text, metadata }
  const left = analysis === undefined ? within.left : { ...factsOf(analysis, size), ...within.left }
  return { text: asText(whole === undefined ? within.bare : whole(within.shown, left ?? {})), metadata }
}

const modeOf = ({ mode, template }: Analysis) =>
  template === undefined ? { handling_mode: mode } : { handling_mode: mode, template_used: template }
const factsOf = (analysis: Analysis, size: object) => ({ large_payload_handled: true, ...modeOf(analysis), ...size })

/** What is within the limits: alone, and as all of a tool's answer; and what is said about that beside it, where anything was left out. */
interface Within {
  readonly shown: unknown
  readonly bare: unknown
  readonly left?: Readonly<Record<string, unknown>>
}

/**
 * The safety net: text above 200,000 characters, lists above 500 items and objects above 200,000 characters of JSON are cut.
 *
 * Deviation: the original let 500 items of any size through. A list whose JSON is above the limit gives up items from its
 * end until it fits (promise 1, *fits*); a first item that is too large alone is shown as a preview like an object.
 */
function withinLimits(result: unknown, handle: string): Within {
  if (typeof result === 'string') {
    if (result.length <= MAX_CHARS) return { shown: result, bare: result }
    const cut = `${cutHead(result, MAX_CHARS)}\n${SRE_TRUNCATED} Full output: ${handle}`
    return { shown: cut, bare: cut, left: { full_output: handle } }
  }
  const list: readonly unknown[] = Array.isArray(result) ? result : []
  const kept = withinChars(list.slice(0, MAX_ITEMS))
  // What was taken off a list stands beside it; everything else says so in itself.
  if (kept.length > 0 && kept.length < list.length) {
    const left = { truncated_count: list.length - kept.length, full_output: handle }
    return { shown: kept, bare: { result: kept, metadata: left }, left }
  }
  const text = jsonText(result)
  if (text.length <= MAX_CHARS) return { shown: result, bare: result }
  const shown = {
    error: 'Result too large',
    message: `The result has ${text.length} characters and ${MAX_CHARS} fit. Use a filter, a shorter time range or a smaller page. The full result is stored as ${handle}.`,
    preview: `${cutHead(text, PREVIEW_CHARS)}...`,
  }
  return { shown, bare: shown, left: { full_output: handle } }
}

function withinChars(items: readonly unknown[]): readonly unknown[] {
  if (jsonLength(items) <= MAX_CHARS) return items
  let used = 2
  const over = items.findIndex((item) => (used += jsonLength(item) + 1) > MAX_CHARS)
  return over < 0 ? items : items.slice(0, over)
}
