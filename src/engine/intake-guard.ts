import type { GuardRule } from '../core/policy.ts'
import type { PresentOptions } from './deps.ts'
import {
  CYBER_DEFAULTS,
  guardAdkCode,
  guardAiAgent,
  guardSreResponse,
  handleLargePayload,
  routeCyberResult,
  triggeredBy,
} from './intake/guards/index.ts'
import { isRecord } from './intake/templates/template.ts'
import { byteLength, countLines, grouped } from './intake/text.ts'

/** Whether a design's guard would not let this result through as it is. */
export const isLarge = (guard: GuardRule | undefined, text: string): boolean =>
  guard !== undefined && triggeredBy(text, guard) !== undefined

/** A large result as its design shows it, always with the address of the original; undefined where the design has no view. */
export function guardedText(guard: GuardRule, text: string, options: PresentOptions): string | undefined {
  if (!isLarge(guard, text)) return undefined
  switch (guard.design) {
    case 'autosre':
      return sreText(guard, text, options)
    case 'cyber-autoagent':
      return cyberText(guard, text, options)
    case 'adk-code':
      return adkText(guard, text, options)
    case 'ai-agent':
      return aiAgentText(guard, text, options)
    case 'contextguard':
      return undefined
  }
}

/** Statistics or a sample for large data; then the safety net. */
function sreText({ items, chars }: GuardRule, text: string, { handle, tool, readers }: PresentOptions): string {
  const analysisTool = readers.get('artifact_run') ?? readers.get('artifact_read')
  const handled = handleLargePayload(
    { result: parse(text) ?? text },
    {
      handle,
      sandbox: true,
      config: { enabled: true, thresholdItems: items ?? Infinity, thresholdChars: chars ?? Infinity },
      ...(tool !== undefined && { tool }),
      ...(analysisTool !== undefined && { analysisTool }),
    },
  )
  const { value } = guardSreResponse(handled.response, { handle })
  const result = isRecord(value) ? value['result'] : value
  return typeof result === 'string' ? result : JSON.stringify(result)
}

/** Header with sizes and address, the first part, footer with the address. */
function cyberText({ chars, shownChars }: GuardRule, text: string, { handle }: PresentOptions): string {
  const limits = {
    ...CYBER_DEFAULTS,
    artifactChars: chars ?? CYBER_DEFAULTS.artifactChars,
    maxChars: shownChars ?? CYBER_DEFAULTS.maxChars,
  }
  const { value } = routeCyberResult({ content: [{ text }] }, () => handle, limits)
  const content = isRecord(value) && Array.isArray(value['content']) ? (value['content'] as unknown[]) : []
  const [first] = content
  return isRecord(first) && typeof first['text'] === 'string' ? first['text'] : text
}

/** Room for the line with the address. */
const ADDRESS_BYTES = 64

function adkText({ bytes = 10_240, lines = 256 }: GuardRule, text: string, { handle }: PresentOptions): string {
  const half = Math.floor(lines / 2)
  const { value } = guardAdkCode(text, { headLines: half, tailLines: half, maxBytes: bytes - ADDRESS_BYTES, handle })
  return `${value}\n[Full output: ${handle}]`
}

/** With a reader in the request the address is enough; without one the two ends are all that the model will ever see. */
function aiAgentText({ bytes = 12_288 }: GuardRule, text: string, options: PresentOptions): string {
  const { handle, readers, countTokens } = options
  const reader = readers.get('artifact_extract') ?? readers.get('artifact_read')
  if (reader === undefined) return `${guardAiAgent(text, bytes - ADDRESS_BYTES)}\n[Full output: ${handle}]`
  const size = `${grouped(byteLength(text))} bytes, ${grouped(countLines(text))} lines, ${grouped(Math.ceil(countTokens(text)))} tokens`
  return `[Tool output is too large for the context (${size}) and was stored as ${handle}. Call ${reader} with this handle and precise instructions on what to extract.]`
}

function parse(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
