import type { Conversation } from '../../core/conversation.ts'
import type { GuardRule } from '../../core/policy.ts'
import { isRecord, parsedJson, recordOf, type Fields } from '../../core/values.ts'
import { parseStructure } from '../intake/json/json-view.ts'
import { byteLength, countLines } from '../intake/text.ts'

/** Variables of the process, passed in. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * On a model that no catalogue knows and whose provider has counted nothing yet, the designs' divisors (2.5 to 4 characters) can be
 * far too low; contextguard's default factor answers that for itself, and serves the others here.
 */
export const CAUTION = 2.5

/** A whole number, with or without commas between its digits; anything else is the default. */
export function integerOf(env: Environment, name: string, fallback: number): number {
  const raw = env[name]?.trim().replaceAll(',', '') ?? ''
  return /^\d{1,15}$/.test(raw) ? Number(raw) : fallback
}

/** A share within bounds; what is no number is the default, what is outside is moved to the nearest bound. */
export function shareOf(
  env: Environment,
  name: string,
  fallback: number,
  [low, high]: readonly [number, number],
): number {
  const raw = env[name]?.trim() ?? ''
  if (!/^\d*\.?\d+$/.test(raw)) return fallback
  return Math.min(high, Math.max(low, Number(raw)))
}

export const isTrue = (env: Environment, name: string): boolean => env[name]?.trim().toLowerCase() === 'true'

/** Estimates the load of a request in its own way; presets of the source designs decide on these numbers. */
export type LoadEstimator = (conversation: Pick<Conversation, 'head' | 'items'>) => number

/** The fields of a declaration or of arguments; empty for text that is no JSON object. */
export const fieldsOf = (text: string): Fields => recordOf(parsedJson(text)) ?? {}

export const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

export interface DeclaredTool {
  readonly name: string
  readonly description: string
  readonly schema: string
}

/** Name, description and schema of a tool, wherever its wire keeps them. */
export function declaredTool(name: string, text: string): DeclaredTool {
  const outer = fieldsOf(text)
  const inner = outer['function']
  const fields = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : outer
  const schema =
    fields['parameters'] ?? fields['input_schema'] ?? fields['parametersJsonSchema'] ?? fields['inputSchema']
  return { name, description: asText(fields['description'] ?? ''), schema: schema === undefined ? '' : asText(schema) }
}

/** Room for the line with the address. */
export const ADDRESS_BYTES = 64

/** When a result is large. Every limit that is set counts; above any of them is large. */
export type IntakeTrigger = Pick<GuardRule, 'items' | 'chars' | 'bytes' | 'lines'>

/** Whether an output is large, and by which limit. Text that is JSON counts its items. */
export function triggeredBy(output: string, trigger: IntakeTrigger): keyof IntakeTrigger | undefined {
  if (trigger.chars !== undefined && output.length > trigger.chars) return 'chars'
  if (trigger.bytes !== undefined && byteLength(output) > trigger.bytes) return 'bytes'
  if (trigger.lines !== undefined && countLines(output) > trigger.lines) return 'lines'
  return trigger.items !== undefined && itemCount(foundIn(parseStructure(output))) > trigger.items ? 'items' : undefined
}

const foundIn = (value: unknown): unknown => (answerIn(value) ?? { found: value }).found

/** An answer of a tool, and what the tool found. */
export interface Answer {
  readonly found: unknown
  /** The answer with something else in its place, and with more metadata. */
  readonly with: (found: unknown, metadata: Fields) => unknown
}

/**
 * ADK and Gemini answer every call with an object; what was found is its `result`, or its `output` where that is all there is. Undefined for an
 * answer that is itself what was found.
 */
export function answerIn(value: unknown): Answer | undefined {
  if (!isRecord(value)) return undefined
  const key = 'result' in value ? 'result' : 'output'
  const found = value[key]
  if (found === undefined || found === null || (key === 'output' && Object.keys(value).length > 1)) return undefined
  const metadata = recordOf(value['metadata'])
  return { found, with: (other, more) => ({ ...value, [key]: other, metadata: { ...metadata, ...more } }) }
}

/** Length of a list, keys of an object, none for text. */
export const itemCount = (value: unknown): number =>
  Array.isArray(value) ? value.length : isRecord(value) ? Object.keys(value).length : 0
