import type { Conversation } from '../../../core/conversation.ts'
import type { EventBody } from '../../../core/events.ts'
import type { Item } from '../../../core/item.ts'
import type { Epoch, EpochEdit } from '../../../core/records.ts'
import { highWater, messagesOf } from '../../epoch/thresholds.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import type { Reduction } from '../design.ts'
import { fieldsOf } from '../shared.ts'

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

/** 8,000 for the system prompt + 3,000 for tools + 50 per message + characters / ratio. Nothing for an empty history, with the design's own log line. */
export function cyberEstimate(
  { items }: Pick<Conversation, 'items'>,
  model: string,
  onEvent: (event: EventBody) => void = () => {},
): number {
  if (items.length === 0) {
    onEvent(line('info', 'TOKEN ESTIMATION: agent.messages is empty'))
    return 0
  }
  const characters = items.reduce((sum, item) => sum + charactersOf(item), 0)
  const text = Math.max(1, Math.floor(characters / cyberRatio(model)))
  return SYSTEM_TOKENS + TOOL_TOKENS + messagesOf(items).length * TOKENS_PER_MESSAGE + text
}

function charactersOf(item: Item): number {
  const media = (item.media ?? []).reduce(
    (sum, { type, name = '' }) => sum + (type === 'image' ? IMAGE_CHARACTERS : name.length + DOCUMENT_CHARACTERS),
    0,
  )
  return item.text.length + (item.toolName?.length ?? 0) + media
}

/** A line of the design's log; people who ran it search for the words. */
const line = (level: 'info' | 'warning' | 'error', message: string): EventBody => ({
  type: 'warning',
  topic: 'cyber-autoagent',
  level,
  message,
})

const tokensIn = ({ load }: View): number => Math.ceil(load.count.tokens)
const thresholdOf = ({ deps, limit, branch }: PrepareContext): number =>
  Math.floor(highWater(deps.policy, limit, branch.log.cacheIsWarm))

/** What the budget check found, before each request; the hook announces itself with the first. */
export function decisionLines(context: PrepareContext, view: View): EventBody[] {
  const { branch } = context
  const messages = messagesOf(view.conversation.items).length
  return [
    ...(branch.requests.last === undefined ? [line('info', 'HOOK REGISTRATION: PromptBudgetHook')] : []),
    line('info', `TOKEN ESTIMATION: ${tokensIn(view)} tokens in ${messages} messages`),
    line('info', `BUDGET CHECK: context=${tokensIn(view)}, threshold=${thresholdOf(context)}`),
  ]
}

/** Where the history is in a request, by its wire. */
const HISTORIES = ['messages', 'contents', 'input']

/** Why there is no estimate, and what the budget goes by then. */
export function unreadLines(text: string, lastPrompt: number | undefined): EventBody[] {
  const body = fieldsOf(text)
  const messages = HISTORIES.map((name) => body[name]).find((value) => value !== undefined && value !== null)
  return [
    messages === undefined
      ? line('warning', 'TOKEN ESTIMATION FAILED: agent.messages is None')
      : Array.isArray(messages)
        ? line('error', 'TOKEN ESTIMATION ERROR: Exception during estimation')
        : line('warning', 'TOKEN ESTIMATION FAILED: agent.messages is not a list'),
    lastPrompt === undefined
      ? line('error', 'BUDGET CHECK ABORT: No estimation and no telemetry')
      : line('info', `BUDGET CHECK FALLBACK: Using telemetry tokens (${lastPrompt})`),
  ]
}

/** What a reduction did, layer by layer. */
export function reductionLines(context: PrepareContext, { before, after, epoch }: Reduction): EventBody[] {
  const threshold = thresholdOf(context)
  const tokens = tokensIn(before)
  const { edits } = epoch
  const compressed = edits.filter((edit) => edit.reason.endsWith('characters compressed')).length
  const slid = dropped(edits, (reason) => reason.startsWith('outside the window'))
  const folded = dropped(edits, (reason) => reason === 'folded into the summary')
  const [from, to] = [before, after].map((view) => messagesOf(view.conversation.items).length) as [number, number]
  return [
    // The window may have been too long in messages alone; then no threshold was exceeded.
    ...(tokens >= threshold ? [line('warning', `THRESHOLD EXCEEDED: context=${tokens}, threshold=${threshold}`)] : []),
    // The document counts its layers from 1 in its log, and from 0 in its text.
    ...(compressed > 0 ? [line('info', `LAYER 2 COMPRESSION: Compressing ${compressed} tool result(s)`)] : []),
    ...(slid > 0 ? [line('info', `LAYER 3 SLIDING WINDOW: Removing ${slid} item(s)`)] : []),
    ...(folded > 0 ? [line('info', `LAYER 4 SUMMARIZATION: Summarizing ${folded} item(s)`)] : []),
    line('info', `Context reduced via ${managerOf(epoch)} manager: messages ${from}->${to}`),
  ]
}

const dropped = (edits: readonly EpochEdit[], isIt: (reason: string) => boolean): number =>
  edits.reduce((sum, edit) => sum + (edit.op === 'drop' && isIt(edit.reason) ? edit.to - edit.from : 0), 0)

function managerOf({ edits }: Epoch): string {
  if (edits.some((edit) => edit.op === 'drop' && edit.reason === 'folded into the summary')) return 'summarizing'
  return edits.some((edit) => edit.op === 'drop') ? 'sliding' : 'mapping'
}
