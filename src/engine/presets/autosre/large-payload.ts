import { isRecord } from '../../../core/values.ts'
import type { PresentOptions } from '../../deps.ts'
import { typeName } from '../../intake/json/fields.ts'
import { jsonText } from '../../intake/json/json-view.ts'
import { cutHead } from '../../intake/text.ts'
import { describeObject, runTemplate, TOOL_TEMPLATES, type TemplateName } from './templates.ts'

/** AutoSRE's large-payload handler: what is large becomes a statistical summary, or a sample with instructions. */
export interface Analysis {
  readonly mode: 'template_sandbox' | 'generic_sandbox' | 'code_generation_prompt'
  readonly template?: TemplateName
  readonly content: Record<string, unknown>
}

export interface LargePayloadOptions extends Pick<PresentOptions, 'tool' | 'handle' | 'readers'> {
  /** Whether analysis may run. Without it the model gets a sample and instructions. */
  readonly sandbox: boolean
}

/** Undefined when a known tool's analysis failed: the response then goes on to the truncation guard as it is. */
export function analyse(result: unknown, options: LargePayloadOptions): Analysis | undefined {
  const { tool = '', sandbox } = options
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
    : runTemplate('generic', recordsOf(result))

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
function prompt(result: unknown, options: LargePayloadOptions): Analysis {
  return {
    mode: 'code_generation_prompt',
    content: { ...sampleOf(result), instructions: instructionsFor(options) },
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
function instructionsFor({ handle, readers }: LargePayloadOptions): string {
  const [run, read] = [readers.get('artifact_run'), readers.get('artifact_read')]
  const stored = `This is a sample. The full data is stored as ${handle}.`
  if (run !== undefined)
    return `${stored} Call ${run} with this handle and JavaScript that works on \`data\` and returns only the answer.`
  return read === undefined
    ? stored
    : `${stored} No tool here runs code; call ${read} with this handle to read parts of it.`
}
