import type { GuardRule } from '../../core/policy.ts'
import type { Presented, PresentOptions } from '../deps.ts'
import {
  CYBER_DEFAULTS,
  describeOutput,
  guardAdkCode,
  guardAiAgent,
  guardSreResponse,
  handleLargePayload,
  routeCyberResult,
  triggeredBy,
  type ShowReport,
} from '../intake/index.ts'
import { isRecord } from '../intake/templates/template.ts'
import { byteLength, countLines, grouped } from '../intake/text.ts'

/** Whether a design's guard would not let this result through as it is. */
export const isLarge = (guard: GuardRule | undefined, text: string): boolean =>
  guard !== undefined && triggeredBy(text, guard) !== undefined

/** What a design shows of a large result, and what its own metadata say about that. */
interface DesignView {
  readonly text: string
  readonly metadata?: Partial<ShowReport>
}

/** A large result as its design shows it, always with the address of the original; undefined where the design has no view. */
export function guardedView(guard: GuardRule, text: string, options: PresentOptions): Presented | undefined {
  if (!isLarge(guard, text)) return undefined
  const started = options.now?.()
  const shown = designView(guard, text, options)
  if (shown === undefined) return undefined
  const { report, about } = describeOutput(text, shown.text, 'head-tail')
  const elapsed = started === undefined ? {} : { processing_ms: options.now!() - started }
  return { text: shown.text, about, report: { ...report, ...shown.metadata, ...elapsed } }
}

function designView(guard: GuardRule, text: string, options: PresentOptions): DesignView | undefined {
  switch (guard.design) {
    case 'autosre':
      return sreView(guard, text, options)
    case 'cyber-autoagent':
      return cyberView(guard, text, options)
    case 'adk-code':
      return { text: adkText(guard, text, options) }
    case 'ai-agent':
      return aiAgentView(guard, text, options)
    case 'contextguard':
      return undefined
  }
}

/** Statistics or a sample for large data; then the safety net. The design counts an object's keys as items, and characters as JSON. */
function sreView(
  { items, chars, sandbox = true }: GuardRule,
  text: string,
  { handle, tool, readers }: PresentOptions,
): DesignView {
  const analysisTool = readers.get('artifact_run') ?? readers.get('artifact_read')
  const handled = handleLargePayload(
    { result: parse(text) ?? text },
    {
      handle,
      sandbox,
      config: { enabled: true, thresholdItems: items ?? Infinity, thresholdChars: chars ?? Infinity },
      ...(tool !== undefined && { tool }),
      ...(analysisTool !== undefined && { analysisTool }),
    },
  )
  const { value } = guardSreResponse(handled.response, { handle })
  const result = isRecord(value) ? value['result'] : value
  const metadata = isRecord(value) && isRecord(value['metadata']) ? value['metadata'] : {}
  const { mode, size } = handled
  const template = metadata['template_used']
  return {
    text: typeof result === 'string' ? result : JSON.stringify(result),
    metadata: {
      original_items: size.items,
      original_chars: size.chars,
      ...(mode !== undefined && { handling_mode: mode }),
      ...(typeof template === 'string' && { template_used: template }),
    },
  }
}

/** Header with sizes and address, the first part, footer with the address. The design's sizes are in characters. */
function cyberView({ chars, shownChars }: GuardRule, text: string, { handle }: PresentOptions): DesignView {
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

/** Room for the line with the address. */
const ADDRESS_BYTES = 64

function adkText({ bytes = 10_240, lines = 256 }: GuardRule, text: string, { handle }: PresentOptions): string {
  const half = Math.floor(lines / 2)
  const { value } = guardAdkCode(text, { headLines: half, tailLines: half, maxBytes: bytes - ADDRESS_BYTES, handle })
  return `${value}\n[Full output: ${handle}]`
}

/** With a reader in the request the address is enough; without one the two ends are all that the model will ever see. */
function aiAgentView({ bytes = 12_288 }: GuardRule, text: string, options: PresentOptions): DesignView {
  const { handle, readers, countTokens } = options
  const reader = readers.get('artifact_extract') ?? readers.get('artifact_read')
  if (reader === undefined) return { text: `${guardAiAgent(text, bytes - ADDRESS_BYTES)}\n[Full output: ${handle}]` }
  const size = `${grouped(byteLength(text))} bytes, ${grouped(countLines(text))} lines, ${grouped(Math.ceil(countTokens(text)))} tokens`
  const pointer = `[Tool output is too large for the context (${size}) and was stored as ${handle}. Call ${reader} with this handle and precise instructions on what to extract.]`
  return { text: pointer, metadata: { handling_mode: 'handle' } }
}

function parse(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
