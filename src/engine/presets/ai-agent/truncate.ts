import { rootSpan, skipString, skipSpace } from '../../../core/json/lexer.ts'
import { isJsonText } from '../../../core/values.ts'
import { shortJsonString } from '../../intake/json/json-view.ts'
import { aiAgentTruncated, byteLength, cutHeadBytes, cutTailBytes } from '../../intake/text.ts'

/** ai-agent's cap on one tool response. */
export const AI_AGENT_MAX_BYTES = 12_288
/** Smaller payloads are never cut: what would be left says nothing. */
const MIN_PAYLOAD_BYTES = 512
const MARKER_ALLOWANCE = 50
/** Strings in JSON up to this size stay whole. */
const MIN_STRING_BYTES = 128

/** First and last half within `maxBytes`. The text itself when it fits; undefined when it cannot be cut. */
export function truncateToBytes(text: string, maxBytes: number): string | undefined {
  const bytes = byteLength(text)
  if (bytes <= maxBytes) return text
  const half = Math.floor((maxBytes - MARKER_ALLOWANCE) / 2)
  if (bytes < MIN_PAYLOAD_BYTES || half < 1) return undefined
  const head = cutHeadBytes(text, half)
  const tail = cutTailBytes(text, half)
  return `${head}${aiAgentTruncated(bytes - byteLength(head) - byteLength(tail), 'bytes')}${tail}`
}

/**
 * JSON within `maxBytes`: the largest strings above 128 bytes give way first, each to its two halves; keys, numbers and
 * structure stay as written. Undefined for text that is no JSON, or when strings alone cannot make it fit.
 */
export function truncateJson(text: string, maxBytes: number): string | undefined {
  if (!isJson(text)) return undefined
  const bytes = byteLength(text)
  if (bytes <= maxBytes) return text
  const strings = valueStrings(text).sort((a, b) => b.bytes - a.bytes)
  let left = bytes - maxBytes
  const cuts = new Map<number, { end: number; text: string }>()
  for (const { start, end, bytes: size } of strings) {
    if (left <= 0) break
    const short = shortJsonString(
      text.slice(start, end),
      Math.max(MIN_STRING_BYTES, size - left - MARKER_ALLOWANCE),
      (omitted) => aiAgentTruncated(omitted, 'bytes'),
    )
    const saved = size - byteLength(short)
    if (saved <= 0) continue
    cuts.set(start, { end, text: short })
    left -= saved
  }
  if (left > 0) return undefined
  const out = splice(text, cuts)
  return byteLength(out) <= maxBytes && isJson(out) ? out : undefined
}

const isJson = (text: string): boolean => rootSpan(text) !== undefined && isJsonText(text)

interface StringSpan {
  readonly start: number
  readonly end: number
  readonly bytes: number
}

/** Strings that are values (a key is followed by a colon), above the size that may be cut. */
function valueStrings(text: string): StringSpan[] {
  const out: StringSpan[] = []
  for (let at = text.indexOf('"'); at >= 0;) {
    const end = skipString(text, at)
    if (end < 0) break
    const isKey = text.charCodeAt(skipSpace(text, end)) === 58
    if (!isKey && end - at - 2 > MIN_STRING_BYTES / 3) {
      const bytes = byteLength(text.slice(at, end))
      if (bytes - 2 > MIN_STRING_BYTES) out.push({ start: at, end, bytes })
    }
    at = text.indexOf('"', end)
  }
  return out
}

function splice(text: string, cuts: ReadonlyMap<number, { end: number; text: string }>): string {
  const parts: string[] = []
  let at = 0
  for (const [start, cut] of [...cuts].sort((a, b) => a[0] - b[0])) {
    parts.push(text.slice(at, start), cut.text)
    at = cut.end
  }
  return parts.join('') + text.slice(at)
}

/** The cap as a step: JSON keeps its structure when it can, other text its two ends. Undefined never leaves: a text that may not be cut passes. */
export function guardAiAgent(text: string, maxBytes = AI_AGENT_MAX_BYTES): string {
  const start = skipSpace(text, 0)
  const json = text[start] === '{' || text[start] === '[' ? truncateJson(text, maxBytes) : undefined
  return json ?? truncateToBytes(text, maxBytes) ?? text
}
