import type { GuardRule } from '../../../core/policy.ts'
import { isRecord, parsedJson, type Fields } from '../../../core/values.ts'
import type { PresentOptions } from '../../deps.ts'
import { jsonText, parseStructure } from '../../intake/json/json-view.ts'
import { cyberFooter, cyberHeader, cyberTruncated, cutHead } from '../../intake/text.ts'
import type { DesignView } from '../design.ts'
import { integerOf, type Environment } from '../shared.ts'

/** Cyber-AutoAgent's limits, in characters. */
export interface CyberLimits {
  /** Above this a text goes to an artifact. */
  readonly artifactChars: number
  /** Above this a text without artifact is cut. */
  readonly maxChars: number
  /** At or above this an old result is compressed. */
  readonly compressChars: number
  readonly truncateChars: number
}

export const CYBER_DEFAULTS: CyberLimits = {
  artifactChars: 10_000,
  maxChars: 30_000,
  compressChars: 10_000,
  truncateChars: 8_000,
}

export const readCyberLimits = (env: Environment): CyberLimits => ({
  artifactChars: integerOf(env, 'CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD', CYBER_DEFAULTS.artifactChars),
  maxChars: integerOf(env, 'CYBER_TOOL_MAX_RESULT_CHARS', CYBER_DEFAULTS.maxChars),
  compressChars: CYBER_DEFAULTS.compressChars,
  truncateChars: integerOf(env, 'CYBER_TOOL_COMPRESS_TRUNCATE', CYBER_DEFAULTS.truncateChars),
})

/** Layer 0: header with sizes and address, the first part, footer with the address. The design's sizes are in characters. */
export function cyberGuard(
  { chars = CYBER_DEFAULTS.artifactChars, shownChars = CYBER_DEFAULTS.maxChars }: GuardRule,
  text: string,
  { handle, file }: Pick<PresentOptions, 'handle' | 'file'>,
): DesignView {
  const kept = cutHead(text, Math.min(chars, shownChars))
  const stored = file === undefined ? '' : `\n[Stored as ${handle}]`
  const shown =
    text.length <= chars
      ? text
      : `${cyberHeader(text.length, kept.length, file ?? handle)}\n\n${kept}\n\n${cyberFooter(file ?? handle)}${stored}`
  return {
    text: shown,
    metadata: {
      original_size: text.length,
      compressed_size: shown.length,
      compression_ratio: ratioOf(shown.length, text.length),
    },
  }
}

const ratioOf = (after: number, before: number): number => Number((after / before).toFixed(3))

const SAMPLES = 3
const SAMPLE_CHARS = 100

/**
 * Layer 1: an old result of at least `compressChars` shrinks; a smaller one gives undefined. Text keeps its first `truncateChars`; an object
 * its first three keys, a list its first three elements (the document's promise; the code sampled no lists).
 */
export function compressedResult(text: string, { compressChars, truncateChars }: CyberLimits): string | undefined {
  const value = parseStructure(text)
  const size = value === undefined ? text.length : jsonText(value).length
  if (size < compressChars || size === 0) return undefined
  const note = `[compressed tool result: original size ${size} chars, threshold ${compressChars}]`
  if (value === undefined) return `${note}\n${truncated(text, truncateChars)}`
  if (size <= truncateChars) return `${note}\n${JSON.stringify(value)}`
  const list = Array.isArray(value) ? (value as unknown[]) : undefined
  const keys = Object.keys(value as object)
  const [type, unit] = list === undefined ? ['dict', 'keys'] : ['list', 'elements']
  const samples: Record<string, unknown> =
    list === undefined
      ? Object.fromEntries(keys.slice(0, SAMPLES).map((key) => [key, clipValue((value as Fields)[key])]))
      : { samples: list.slice(0, SAMPLES).map(clipValue), length: list.length }
  const fixed = { _compressed: true, _original_size: size, _type: type, _n_original_keys: keys.length }
  const after = jsonText({ ...fixed, _compressed_size: 0, _compression_ratio: 0, ...samples }).length
  const json = { ...fixed, _compressed_size: after, _compression_ratio: ratioOf(after, size), ...samples }
  const indicator = `[compressed JSON: ${keys.length} ${unit}, original size ${size} chars]`
  return `${note}\n${indicator}\n${JSON.stringify(json)}`
}

const truncated = (text: string, most: number): string =>
  text.length <= most ? text : `${cutHead(text, most)}${cyberTruncated(text.length)}`

const textOf = (value: unknown): string => (typeof value === 'string' ? value : jsonText(value))

/** A value whose text is short stays itself; a longer one becomes its first characters. */
function clipValue(value: unknown): unknown {
  const text = textOf(value)
  return text.length <= SAMPLE_CHARS ? value : `${cutHead(text, SAMPLE_CHARS)}...`
}

/**
 * Old tool inputs: values above the threshold keep their first part and a note; undefined where none is. The note says that the value is not
 * whole, since models copy what they see into new calls.
 */
export function compressedInput(text: string, { compressChars, truncateChars }: CyberLimits): string | undefined {
  const input = parsedJson(text)
  if (!isRecord(input) || jsonText(input).length <= compressChars) return undefined
  const entries = Object.entries(input)
  if (!entries.some(([, value]) => textOf(value).length > truncateChars)) return undefined
  return JSON.stringify(
    Object.fromEntries(
      entries.map(([key, value]) => {
        const own = textOf(value)
        return [key, own.length <= truncateChars ? value : truncated(own, truncateChars)]
      }),
    ),
  )
}
