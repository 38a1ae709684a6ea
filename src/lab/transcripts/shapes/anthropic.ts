import type { Part } from '../recording.ts'
import { isRecord } from '../../../core/values.ts'
import { toolList, type Rendered, type WireShape } from './shape.ts'

// The API refuses a request without max_tokens; recordings do not keep it.
const MAX_TOKENS = 8192

export const anthropicShape: WireShape = {
  wire: 'anthropic-messages',

  fromUser(parts) {
    // Results must open the message that answers a call.
    const ordered = [...parts.filter(isResultPart), ...parts.filter((part) => !isResultPart(part))]
    return message('user', ordered)
  },

  fromModel: (parts) => message('assistant', parts),

  envelope({ system, tools, model }) {
    const head = {
      model,
      max_tokens: MAX_TOKENS,
      ...(system !== undefined && { system }),
    }
    const withTools = tools.length > 0 ? `,"tools":${toolList(tools)}` : ''
    return { before: `${JSON.stringify(head).slice(0, -1)}${withTools},"messages":[`, after: ']}' }
  },
}

const isResultPart = (part: Part): boolean => part.kind === 'result' && part.serverSide !== true

function message(role: 'user' | 'assistant', parts: readonly Part[]): readonly Rendered[] {
  const sendable = parts.filter(isSendable)
  if (sendable.length === 0) return []
  const [only] = sendable
  const plain =
    sendable.length === 1 && only?.raw === undefined && (only?.kind === 'user' || only?.kind === 'assistant')
  return [{ role, parts: sendable, value: () => ({ role, content: plain ? only?.text : sendable.map(block) }) }]
}

/** Empty text blocks are refused, and thinking without its signature cannot be sent back. */
function isSendable(part: Part): boolean {
  if (part.kind === 'reasoning') return part.raw !== undefined
  if (part.kind === 'media' || part.kind === 'opaque') return part.raw !== undefined
  if (part.kind === 'call' || part.kind === 'result') return true
  return part.text.trim() !== ''
}

function block(part: Part): unknown {
  if (part.raw !== undefined) return part.raw
  if (part.kind === 'call') {
    const input = isRecord(part.input) ? part.input : { input: part.input ?? part.text }
    return { type: 'tool_use', id: part.callId, name: part.toolName, input }
  }
  if (part.kind === 'result') {
    const failed = part.isError === true ? { is_error: true } : {}
    return { type: 'tool_result', tool_use_id: part.callId, content: part.text, ...failed }
  }
  return { type: 'text', text: part.text }
}
