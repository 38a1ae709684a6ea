import type { Conversation } from '../../../core/conversation.ts'
import type { EventBody } from '../../../core/events.ts'
import type { Item } from '../../../core/item.ts'
import { messagesOf } from '../messages.ts'

const SYSTEM_TOKENS = 8000
const TOOL_TOKENS = 3000
const TOKENS_PER_MESSAGE = 50
const IMAGE_CHARACTERS = 600
const DOCUMENT_CHARACTERS = 400

const RATIOS: readonly (readonly [RegExp, number])[] = [
  [/claude/, 3.7],
  [/gpt/, 4.0],
  [/kimi|moonshot/, 3.8],
  [/gemini/, 4.2],
]
const DEFAULT_RATIO = 3.7

/** Characters per token of a model's family. */
export function cyberRatio(model: string): number {
  return RATIOS.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1] ?? DEFAULT_RATIO
}

/**
 * 8,000 for the system prompt + 3,000 for tools + 50 per message + characters / ratio. Nothing for an empty history; undefined,
 * with the design's own log line, for one that is not there.
 */
export function cyberEstimate(
  conversation: Pick<Conversation, 'items'> | null | undefined,
  model: string,
  onEvent: (event: EventBody) => void = () => {},
): number | undefined {
  const items: unknown = conversation?.items
  if (items === undefined || items === null)
    return failed('warning', 'TOKEN ESTIMATION FAILED: agent.messages is None', onEvent)
  if (!Array.isArray(items)) return failed('warning', 'TOKEN ESTIMATION FAILED: agent.messages is not a list', onEvent)
  const listed = items as readonly Item[]
  if (listed.length === 0) {
    onEvent(line('info', 'TOKEN ESTIMATION: agent.messages is empty'))
    return 0
  }
  try {
    const characters = listed.reduce((sum, item) => sum + charactersOf(item), 0)
    const text = Math.max(1, Math.floor(characters / cyberRatio(model)))
    return SYSTEM_TOKENS + TOOL_TOKENS + messagesOf(listed).length * TOKENS_PER_MESSAGE + text
  } catch (error) {
    return failed(
      'error',
      `TOKEN ESTIMATION ERROR: Exception during estimation: ${error instanceof Error ? error.message : String(error)}`,
      onEvent,
    )
  }
}

/** The estimate, else the tokens of the last measured call, else nothing: each step down has its log line. */
export function cyberBudgetTokens(
  estimate: number | undefined,
  telemetry: number | undefined,
  onEvent: (event: EventBody) => void = () => {},
): number | undefined {
  if (estimate !== undefined) return estimate
  if (telemetry !== undefined && telemetry > 0) {
    onEvent(line('info', 'BUDGET CHECK FALLBACK: Using telemetry tokens'))
    return telemetry
  }
  onEvent(line('error', 'BUDGET CHECK ABORT: No estimation and no telemetry'))
  return undefined
}

function charactersOf(item: Item): number {
  const media = (item.media ?? []).reduce(
    (sum, { type, name = '' }) => sum + (type === 'image' ? IMAGE_CHARACTERS : name.length + DOCUMENT_CHARACTERS),
    0,
  )
  return item.text.length + (item.toolName?.length ?? 0) + media
}

function failed(level: 'warning' | 'error', message: string, onEvent: (event: EventBody) => void): undefined {
  onEvent(line(level, message))
  return undefined
}

/** A line of the design's log; people who ran it search for the words. */
export const line = (level: 'info' | 'warning' | 'error', message: string): EventBody => ({
  type: 'warning',
  topic: 'cyber-autoagent',
  level,
  message,
})
