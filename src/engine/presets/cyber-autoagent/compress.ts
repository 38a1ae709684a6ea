import type { GuardRule } from '../../../core/policy.ts'
import { isRecord, listOf } from '../../../core/values.ts'
import type { PresentOptions } from '../../deps.ts'
import { jsonText, shareRoom } from '../../intake/json/json-view.ts'
import { cyberCutHeader, cyberFooter, cyberHeader, cyberTruncated, cutHead } from '../../intake/text.ts'
import type { DesignView } from '../design.ts'
import { integerOf, type Environment, type GuardCut, type Guarded } from '../shared.ts'

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

/**
 * Layer 0: each text block above the threshold becomes header, first part and footer. `pathOf` gives the address of the stored
 * original, or undefined when it could not be stored. The result is a new object; all its other fields are carried over.
 */
export function routeCyberResult(
  result: unknown,
  pathOf: (text: string, block: number) => string | undefined,
  limits: CyberLimits = CYBER_DEFAULTS,
): Guarded<unknown> {
  const content = isRecord(result) ? result['content'] : undefined
  if (!isRecord(result) || !Array.isArray(content)) return { value: result, cuts: [] }
  const cuts: GuardCut[] = []
  const blocks = content.map((block: unknown, index) => {
    if (!isRecord(block) || typeof block['text'] !== 'string' || block['text'].length <= limits.artifactChars)
      return block
    const text = block['text']
    const path = pathOf(text, index)
    if (path === undefined && text.length <= limits.maxChars) return block
    const shown = cutHead(text, path === undefined ? limits.maxChars : Math.min(limits.artifactChars, limits.maxChars))
    cuts.push({
      guard: 'cyber-autoagent',
      what: `block ${index}`,
      original: text.length,
      shown: shown.length,
      handle: path,
    })
    return {
      ...block,
      text:
        path === undefined
          ? `${cyberCutHeader(text.length, shown.length)}\n\n${shown}`
          : `${cyberHeader(text.length, shown.length, path)}\n\n${shown}\n\n${cyberFooter(path)}`,
    }
  })
  return cuts.length === 0 ? { value: result, cuts } : { value: { ...result, content: blocks }, cuts }
}

const SAMPLES = 3
const SAMPLE_CHARS = 100

/**
 * Layer 1: an old result of at least `compressChars` shrinks. Text keeps its first `truncateChars`; an object its first three
 * keys, a list its first three elements (the document's promise; the code sampled no lists).
 *
 * Deviation: several blocks that are small alone but large together kept their size and were "compressed" again on every
 * call. Here they share `truncateChars` (promise 6, *bounded*).
 */
export function compressCyberResult(result: unknown, limits: CyberLimits = CYBER_DEFAULTS): Guarded<unknown> {
  const blocks = isRecord(result) ? listOf(result['content']) : []
  const sizes = blocks.map(sizeOfBlock)
  const original = sizes.reduce((sum, size) => sum + size, 0)
  if (!isRecord(result) || original < limits.compressChars || original === 0) return { value: result, cuts: [] }
  // Together too large, none alone: each gives way by its share.
  const rooms = sizes.some((size) => size > limits.truncateChars)
    ? sizes.map(() => limits.truncateChars)
    : shareRoom(sizes, limits.truncateChars)
  const compressed = blocks.flatMap((block, i) => compressBlock(block, sizes[i]!, rooms[i]!))
  const shown = compressed.reduce((sum: number, block) => sum + sizeOfBlock(block), 0)
  const note = { text: `[compressed tool result: original size ${original} chars, threshold ${limits.compressChars}]` }
  return {
    value: { ...result, content: [note, ...compressed] },
    cuts: [{ guard: 'cyber-autoagent', what: 'result', original, shown }],
  }
}

const sizeOfBlock = (block: unknown): number => {
  if (!isRecord(block)) return 0
  if (typeof block['text'] === 'string') return block['text'].length
  return block['json'] === undefined ? 0 : jsonText(block['json']).length
}

function compressBlock(block: unknown, size: number, room: number): readonly unknown[] {
  if (!isRecord(block) || size <= room) return [block]
  if (typeof block['text'] === 'string')
    return [{ ...block, text: `${cutHead(block['text'], room)}${cyberTruncated(size)}` }]
  const { json } = block
  if (Array.isArray(json))
    return sampled(block, size, 'list', json.length, 'elements', {
      samples: json.slice(0, SAMPLES).map(clipValue),
      length: json.length,
    })
  if (isRecord(json)) return sampled(block, size, 'dict', Object.keys(json).length, 'keys', firstKeys(json))
  return [block]
}

function sampled(
  block: Record<string, unknown>,
  size: number,
  type: string,
  count: number,
  unit: string,
  samples: Record<string, unknown>,
): readonly unknown[] {
  const fixed = { _compressed: true, _original_size: size, _type: type, _n_original_keys: count }
  const after = jsonText({ ...fixed, _compressed_size: 0, _compression_ratio: 0, ...samples }).length
  const json = { ...fixed, _compressed_size: after, _compression_ratio: Number((after / size).toFixed(3)), ...samples }
  return [{ text: `[compressed JSON: ${count} ${unit}, original size ${size} chars]` }, { ...block, json }]
}

const firstKeys = (record: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(record)
      .slice(0, SAMPLES)
      .map((key) => [key, clipValue(record[key])]),
  )

/** A value whose text is short stays itself; a longer one becomes its first characters. */
function clipValue(value: unknown): unknown {
  const text = typeof value === 'string' ? value : jsonText(value)
  return text.length <= SAMPLE_CHARS ? value : `${cutHead(text, SAMPLE_CHARS)}...`
}

/**
 * Old tool inputs: values above the threshold keep their first part and a note. The note says that the value is not whole,
 * since models copy what they see into new calls.
 */
export function compressCyberInput(input: unknown, limits: CyberLimits = CYBER_DEFAULTS): Guarded<unknown> {
  if (!isRecord(input) || jsonText(input).length <= limits.compressChars) return { value: input, cuts: [] }
  const cuts: GuardCut[] = []
  const entries = Object.entries(input).map(([key, value]) => {
    const text = typeof value === 'string' ? value : jsonText(value)
    if (text.length <= limits.truncateChars) return [key, value] as const
    cuts.push({ guard: 'cyber-autoagent', what: `input ${key}`, original: text.length, shown: limits.truncateChars })
    return [key, `${cutHead(text, limits.truncateChars)}${cyberTruncated(text.length)}`] as const
  })
  return cuts.length === 0 ? { value: input, cuts } : { value: Object.fromEntries(entries), cuts }
}

/** Header with sizes and address, the first part, footer with the address. The design's sizes are in characters. */
export function cyberGuard({ chars, shownChars }: GuardRule, text: string, { handle }: PresentOptions): DesignView {
  const limits = {
    ...CYBER_DEFAULTS,
    artifactChars: chars ?? CYBER_DEFAULTS.artifactChars,
    maxChars: shownChars ?? CYBER_DEFAULTS.maxChars,
  }
  const { value } = routeCyberResult({ content: [{ text }] }, () => handle, limits)
  const content = isRecord(value) && Array.isArray(value['content']) ? (value['content'] as unknown[]) : []
  const [first] = content
  const shown = isRecord(first) && typeof first['text'] === 'string' ? first['text'] : text
  return {
    text: shown,
    metadata: {
      original_size: text.length,
      compressed_size: shown.length,
      compression_ratio: Number((shown.length / text.length).toFixed(3)),
    },
  }
}
