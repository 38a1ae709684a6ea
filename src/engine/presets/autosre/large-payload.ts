import { describeObject, runTemplate, TOOL_TEMPLATES, type TemplateName } from '../../intake/templates/index.ts'
import { isRecord, recordOf } from '../../../core/values.ts'
import { typeName } from '../../intake/json/fields.ts'
import { cutHead } from '../../intake/text.ts'
import { integerOf, itemCount, type Environment, type IntakeTrigger } from '../shared.ts'
import { jsonLength, jsonText } from '../../intake/json/json-view.ts'

/** AutoSRE's large-payload handler: what is large becomes a statistical summary, or a sample with instructions. */
export interface LargePayloadConfig {
  readonly enabled: boolean
  /** Strictly above is large. */
  readonly thresholdItems: number
  readonly thresholdChars: number
}

const LARGE_PAYLOAD_DEFAULTS: LargePayloadConfig = { enabled: true, thresholdItems: 50, thresholdChars: 100_000 }

/** "false" in any case switches it off, any other value leaves it on, a number that is none is the default. */
export function readLargePayloadConfig(env: Environment): LargePayloadConfig {
  return {
    enabled: env['SRE_AGENT_LARGE_PAYLOAD_ENABLED']?.trim().toLowerCase() !== 'false',
    thresholdItems: integerOf(env, 'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS', LARGE_PAYLOAD_DEFAULTS.thresholdItems),
    thresholdChars: integerOf(env, 'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS', LARGE_PAYLOAD_DEFAULTS.thresholdChars),
  }
}

/** When a result is large for the policy; switched off, never. */
export function autosreTriggers(env: Environment): IntakeTrigger {
  const { enabled, thresholdItems, thresholdChars } = readLargePayloadConfig(env)
  return enabled ? { items: thresholdItems, chars: thresholdChars } : {}
}

/** Items: length of a list, keys of an object, none for text. Characters: of the JSON text. */
const sizeOf = (value: unknown): HandledPayload['size'] => ({ items: itemCount(value), chars: jsonLength(value) })

export type PayloadMode = 'template_sandbox' | 'generic_sandbox' | 'code_generation_prompt'

export interface LargePayloadOptions {
  readonly tool?: string
  /** Whether analysis may run. Without it the model gets a sample and instructions. @default false */
  readonly sandbox?: boolean
  readonly config?: LargePayloadConfig
  /** Address of the full data; the instructions name it. */
  readonly handle?: string
  /** Tools of the request that open the handle: the one that runs code over the data, and the one that reads it. */
  readonly tools?: { readonly run?: string; readonly read?: string }
}

export interface HandledPayload {
  readonly response: unknown
  /** How a large result was handled; absent where it passed as it is. */
  readonly mode?: PayloadMode
  readonly size: { readonly items: number; readonly chars: number }
}

export function handleLargePayload(response: unknown, options: LargePayloadOptions = {}): HandledPayload {
  const { config = LARGE_PAYLOAD_DEFAULTS } = options
  const result = isRecord(response) ? (response['result'] ?? undefined) : undefined
  if (!config.enabled || !isRecord(response) || result === undefined) return { response, size: { items: 0, chars: 0 } }
  const size = sizeOf(result)
  const isLarge = size.items > config.thresholdItems || size.chars > config.thresholdChars
  const analysis = isLarge ? analyse(result, options) : undefined
  if (analysis === undefined) return { response, size }
  const { mode, template, content } = analysis
  const facts = {
    large_payload_handled: true,
    handling_mode: mode,
    original_items: size.items,
    original_chars: size.chars,
  }
  const replaced = { ...content, ...facts, tool_name: options.tool, full_output: options.handle }
  const metadata = { ...recordOf(response['metadata']), ...facts, template_used: template }
  return { response: { ...response, result: replaced, metadata }, mode, size }
}

interface Analysis {
  readonly mode: PayloadMode
  readonly template?: string
  readonly content: Record<string, unknown>
}

/** Undefined when a known tool's analysis failed: the response then goes on to the truncation guard as it is. */
function analyse(result: unknown, options: LargePayloadOptions): Analysis | undefined {
  const { tool = '', sandbox = false } = options
  if (!sandbox) return prompt(result, options)
  const template = TOOL_TEMPLATES[tool]
  try {
    return template === undefined
      ? { mode: 'generic_sandbox', content: genericContent(result) }
      : { mode: 'template_sandbox', template, content: runTemplate(template, recordsOf(result)) }
  } catch {
    return template === undefined ? prompt(result, options) : undefined
  }
}

const genericContent = (result: unknown): Record<string, unknown> =>
  isRecord(result) && recordsOf(result).length === 0
    ? describeObject(result)
    : runTemplate('generic' satisfies TemplateName, recordsOf(result))

/** The list that a result is, or holds. */
function recordsOf(result: unknown): readonly unknown[] {
  if (Array.isArray(result)) return result
  if (!isRecord(result)) return typeof result === 'string' ? result.split('\n') : []
  const lists = Object.values(result).filter((value) => Array.isArray(value))
  return lists.sort((a, b) => b.length - a.length)[0] ?? []
}

const SAMPLE_ITEMS = 3
const SAMPLE_CHARS = 2_000
const SCHEMA_KEYS = 10

/** No analysis at hand: three items, a schema, and how to work on the full data without reading it. */
function prompt(result: unknown, { handle, tools }: LargePayloadOptions): Analysis {
  return {
    mode: 'code_generation_prompt',
    content: { ...sampleOf(result), instructions: instructionsFor(handle, tools) },
  }
}

function sampleOf(result: unknown): Record<string, unknown> {
  if (Array.isArray(result)) {
    const first: unknown = result[0]
    return {
      total_count: result.length,
      sample: result.slice(0, SAMPLE_ITEMS).map((item) => clip(jsonText(item))),
      schema_hint: isRecord(first) ? typesOf(first, Object.keys(first).length) : typeName(first),
    }
  }
  if (isRecord(result)) {
    const keys = Object.keys(result)
    const head = Object.fromEntries(keys.slice(0, SAMPLE_ITEMS).map((key) => [key, result[key]]))
    return {
      total_count: keys.length,
      sample: clip(jsonText(head)),
      schema_hint: typesOf(result, SCHEMA_KEYS),
    }
  }
  return { total_count: 1, sample: clip(String(result)), schema_hint: typeName(result) }
}

const clip = (text: string): string => (text.length <= SAMPLE_CHARS ? text : `${cutHead(text, SAMPLE_CHARS)}...`)

const typesOf = (record: Record<string, unknown>, keys: number): Record<string, string> =>
  Object.fromEntries(
    Object.keys(record)
      .slice(0, keys)
      .map((key) => [key, typeName(record[key])]),
  )

/** The original told the model to pass "the full dataset", which it does not have. A handle it can name takes its place. */
function instructionsFor(
  handle: string | undefined,
  { run, read }: NonNullable<LargePayloadOptions['tools']> = {},
): string {
  if (handle === undefined)
    return 'This is a sample. The full data was not stored; ask for less, or for an aggregate, to see more.'
  const stored = `This is a sample. The full data is stored as ${handle}.`
  if (run !== undefined)
    return `${stored} Call ${run} with this handle and JavaScript that works on \`data\` and returns only the answer.`
  return read === undefined
    ? stored
    : `${stored} No tool here runs code; call ${read} with this handle to read parts of it.`
}
