import { type Fields, isRecord, listOf, recordsIn } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import { quoted } from '../kit/rule-kit.ts'
import type { OpenAiChatRule } from './rule-book.ts'

export interface ChatRuleContext {
  readonly body: Fields
  readonly found: Findings<OpenAiChatRule>
  readonly profiles: ReadonlySet<string>
}

const NINE = /^[a-zA-Z0-9]{9}$/
const MAX_ID = 40

/** Only what is reported has to say where it stands. */
export const placeOf = (index: number): string => `messages[${index}]`

const callPlaceOf = (index: number, at: number): string => `${placeOf(index)}.tool_calls[${at}]`

interface OpenStep {
  readonly index: number
  /** Ids of its calls, and whether each has its tool message. */
  readonly answered: Map<string, boolean>
}

/** Calls and their tool messages, by position: a result belongs to the assistant message right before its run. */
export function checkChatPairs(context: ChatRuleContext): void {
  const { found, profiles } = context
  const seen = new Set<string>()
  let step: OpenStep | undefined
  let previousRole: unknown
  const messages = listOf(context.body.messages)
  messages.forEach((message, index) => {
    if (!isRecord(message)) return
    if (message.role === 'tool') {
      takeResult(context, message, index, step)
    } else {
      closeStep(context, step)
      step = message.role === 'assistant' ? openStep(context, message, index, seen) : undefined
    }
    if (profiles.has('mistral') && message.role === 'user' && previousRole === 'tool') {
      found.report('mistral-order', `${placeOf(index)}.role`, "Unexpected role 'user' after role 'tool'")
    }
    previousRole = message.role
  })
  closeStep(context, step)
  if (profiles.has('mistral') && previousRole === 'assistant' && !isPrefix(messages.at(-1))) {
    const message = 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    found.report('mistral-order', `${placeOf(messages.length - 1)}.role`, message)
  }
}

const isPrefix = (message: unknown): boolean => isRecord(message) && message.prefix === true

function openStep(
  { found, profiles }: ChatRuleContext,
  message: Fields,
  index: number,
  seen: Set<string>,
): OpenStep | undefined {
  const calls = recordsIn(message.tool_calls)
  if (calls.length === 0) return undefined
  const answered = new Map<string, boolean>()
  calls.forEach((call, at) => {
    const id = typeof call.id === 'string' ? call.id : ''
    const declared = isRecord(call.function) ? call.function : {}
    const custom = call.type === 'custom'
    if (id === '' || (!custom && (typeof declared.name !== 'string' || typeof declared.arguments !== 'string'))) {
      const path = callPlaceOf(index, at)
      found.report(
        'call-shape',
        path,
        `Missing required parameter: '${path}.${id === '' ? 'id' : 'function.arguments'}'.`,
      )
    }
    if (seen.has(id))
      found.report('unique-call-ids', `${callPlaceOf(index, at)}.id`, `Duplicate value for 'tool_call_id' of '${id}'`)
    if (profiles.has('openai') && id.length > MAX_ID) {
      const path = `${callPlaceOf(index, at)}.id`
      const message = `Invalid '${path}': string too long. Expected a string with maximum length ${MAX_ID}, but got a string with length ${id.length} instead.`
      found.report('call-id-length', path, message)
    }
    if (profiles.has('mistral') && !NINE.test(id)) {
      found.report(
        'call-id-nine',
        `${callPlaceOf(index, at)}.id`,
        `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
      )
    }
    seen.add(id)
    answered.set(id, false)
  })
  return { index, answered }
}

function takeResult({ found }: ChatRuleContext, message: Fields, index: number, step: OpenStep | undefined): void {
  const id = typeof message.tool_call_id === 'string' ? message.tool_call_id : ''
  const isAnswered = step?.answered.get(id)
  if (isAnswered === false) {
    step?.answered.set(id, true)
  } else if (isAnswered === true) {
    found.report('results-once', `${placeOf(index)}.tool_call_id`, `Duplicate value for 'tool_call_id' of '${id}'`)
  } else {
    found.report(
      'results-have-calls',
      `${placeOf(index)}.role`,
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    )
  }
}

function closeStep({ found }: ChatRuleContext, step: OpenStep | undefined): void {
  if (step === undefined) return
  const open: string[] = []
  for (const [id, isAnswered] of step.answered) if (!isAnswered) open.push(id)
  if (open.length === 0) return
  found.report(
    'calls-answered',
    placeOf(step.index),
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${quoted(open)}`,
  )
}
