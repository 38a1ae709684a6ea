import { type Fields, isRecord } from '../../core/values.ts'
import type { Findings } from '../kit/rule-kit.ts'
import { shown } from '../kit/rule-kit.ts'
import type { OpenAiResponsesRule } from './rule-book.ts'

/** Calls that the client answers; the provider's own tools carry their result themselves. */
const CLIENT_CALLS = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'shell_call',
  'computer_call',
  'apply_patch_call',
])

const MAX_CALL_ID = 64

const typeOf = (item: unknown): string => (isRecord(item) && typeof item.type === 'string' ? item.type : '')

const isOutput = (type: string): boolean =>
  type.endsWith('_call_output') && CLIENT_CALLS.has(type.slice(0, -'_output'.length))

const callIdOf = (item: Fields): string => (typeof item.call_id === 'string' ? item.call_id : '')

/**
 * Calls with their outputs, and reasoning with the item it led to. When the provider holds earlier items (`chained`), an
 * output may answer a call that is not shown.
 */
export function checkItemPairs(
  items: readonly unknown[],
  chained: boolean,
  found: Findings<OpenAiResponsesRule>,
): void {
  const open = new Map<string, { readonly path: string; readonly type: string }>()
  const answered = new Set<string>()
  items.forEach((item, index) => {
    if (!isRecord(item)) return
    const type = typeOf(item)
    const path = `input[${index}]`
    if (CLIENT_CALLS.has(type)) {
      const callId = callIdOf(item)
      checkCall(item, type, path, found)
      if (open.has(callId) || answered.has(callId)) {
        found.report('unique-call-ids', `${path}.call_id`, `Duplicate call_id found in input: ${callId}`)
      }
      open.set(callId, { path, type })
    } else if (isOutput(type)) takeOutput(item, path, { open, answered, chained, found })
    else if (type === 'reasoning' && !leadsOn(items, index)) {
      const message = `Item '${shown(item.id)}' of type 'reasoning' was provided without its required following item.`
      found.report('reasoning-followed', path, message)
    }
  })
  for (const [callId, { path }] of open) {
    found.report('calls-answered', path, `No tool output found for function call ${callId}.`)
  }
}

function checkCall(item: Fields, type: string, path: string, found: Findings<OpenAiResponsesRule>): void {
  const callId = callIdOf(item)
  if (callId === '') found.report('call-shape', `${path}.call_id`, `Missing required parameter: '${path}.call_id'.`)
  if (callId.length > MAX_CALL_ID) {
    const message = `Invalid '${path}.call_id': string too long. Expected a string with maximum length ${MAX_CALL_ID}, but got a string with length ${callId.length} instead.`
    found.report('call-shape', `${path}.call_id`, message)
  }
  if (type === 'function_call' && (typeof item.name !== 'string' || typeof item.arguments !== 'string')) {
    found.report('call-shape', path, `Missing required parameter: '${path}.arguments'.`)
  }
}

interface PairState {
  readonly open: Map<string, unknown>
  readonly answered: Set<string>
  readonly chained: boolean
  readonly found: Findings<OpenAiResponsesRule>
}

function takeOutput(item: Fields, path: string, { open, answered, chained, found }: PairState): void {
  const callId = callIdOf(item)
  if (open.delete(callId)) {
    answered.add(callId)
  } else if (answered.has(callId)) {
    found.report('outputs-once', path, `Duplicate tool output found for function call ${callId}.`)
  } else if (chained) {
    answered.add(callId)
  } else {
    found.report('outputs-have-calls', path, `No tool call found for function call output with call_id ${callId}.`)
  }
}

/**
 * The item behind a reasoning item is something the model produced. Another reasoning item is looked at in its own turn, so
 * one step is enough; a reference may name anything.
 */
function leadsOn(items: readonly unknown[], index: number): boolean {
  const next = items[index + 1]
  const type = typeOf(next)
  if (type === '' || type === 'message') return isRecord(next) && next.role === 'assistant'
  return !isOutput(type)
}
