import type { Role } from '../../core/item.ts'
import { isRecord } from '../../core/values.ts'
import type { Part, RecordedTool, Wire } from './recording.ts'

/** An array element before its JSON text is written. */
export interface Rendered {
  readonly role: Role
  readonly parts: readonly Part[]
  value(): unknown
}

interface Head {
  readonly system: string | undefined
  readonly tools: readonly RecordedTool[]
  readonly model: string
}

/** How one wire writes what a recording says. The result obeys the wire's rules about roles and pairs. */
export interface WireShape {
  readonly wire: Wire
  /** User text and tool results that stand between two answers. */
  fromUser(parts: readonly Part[]): readonly Rendered[]
  fromModel(parts: readonly Part[]): readonly Rendered[]
  /** The body around the history: its JSON is `before + messages.join(',') + after`. */
  envelope(head: Head): { readonly before: string; readonly after: string }
}

/** Parts of one array element share their raw value; those without one are grouped together. */
function groupByRaw(parts: readonly Part[]): readonly (readonly Part[])[] {
  const groups: Part[][] = []
  for (const part of parts) {
    const last = groups.at(-1)
    if (last !== undefined && last[0]?.raw === part.raw) last.push(part)
    else groups.push([part])
  }
  return groups
}

const toolList = (tools: readonly RecordedTool[]): string => `[${tools.map((tool) => tool.json).join(',')}]`

// The API refuses a request without max_tokens; recordings do not keep it.
const MAX_TOKENS = 8192

const anthropicShape: WireShape = {
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
      system,
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

const chatShape: WireShape = {
  wire: 'openai-chat',

  fromUser(parts) {
    // Tool messages must follow the assistant message that called them directly.
    const results = parts.filter((part) => part.kind === 'result')
    const others = parts.filter((part) => part.kind !== 'result')
    return [...groupByRaw(results), ...groupByRaw(others)].flatMap((group) =>
      group[0]?.raw === undefined ? group.map(fromScratch) : [asRecorded(group)],
    )
  },

  fromModel(parts) {
    const groups = groupByRaw(parts)
    return groups.flatMap((group) => (group[0]?.raw === undefined ? assistant(group) : [asRecorded(group)]))
  },

  envelope({ system, tools, model }) {
    const first = system === undefined ? '' : `${JSON.stringify({ role: 'system', content: system })},`
    const declared = tools.length > 0 ? `,"tools":${toolList(tools)}` : ''
    return { before: `{"model":${JSON.stringify(model)}${declared},"messages":[${first}`, after: ']}' }
  },
}

function asRecorded(group: readonly Part[]): Rendered {
  const [first] = group
  const role =
    first?.kind === 'result'
      ? 'tool'
      : first?.kind === 'instruction'
        ? 'system'
        : first?.kind === 'user' || first?.kind === 'media'
          ? 'user'
          : 'assistant'
  return { role, parts: group, value: () => first?.raw }
}

function fromScratch(part: Part): Rendered {
  if (part.kind === 'result') {
    return {
      role: 'tool',
      parts: [part],
      value: () => ({ role: 'tool', tool_call_id: part.callId, content: part.text }),
    }
  }
  const role = part.kind === 'instruction' ? 'system' : 'user'
  return { role, parts: [part], value: () => ({ role, content: part.text }) }
}

function assistant(parts: readonly Part[]): readonly Rendered[] {
  const text = parts.filter((part) => part.kind === 'assistant').map((part) => part.text)
  const reasoning = parts.filter((part) => part.kind === 'reasoning').map((part) => part.text)
  const calls = parts.filter((part) => part.kind === 'call')
  if (text.join('') === '' && calls.length === 0) return []
  const value = () => ({
    role: 'assistant',
    content: text.length === 0 ? null : text.join('\n'),
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join('\n') }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: call.callId,
        type: 'function',
        function: { name: call.toolName, arguments: call.text },
      })),
    }),
  })
  return [{ role: 'assistant', parts, value }]
}

const responsesShape: WireShape = {
  wire: 'openai-responses',
  fromUser: (parts) => items(parts),
  fromModel: (parts) => items(parts),
  envelope({ system, tools, model }) {
    const instructions = system === undefined ? '' : `,"instructions":${JSON.stringify(system)}`
    const declared = tools.length > 0 ? `,"tools":${toolList(tools)}` : ''
    return {
      before: `{"model":${JSON.stringify(model)}${instructions}${declared},"input":[`,
      after: '],"store":false}',
    }
  },
}

function items(parts: readonly Part[]): readonly Rendered[] {
  return groupByRaw(parts).flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    if (first.raw !== undefined) return [{ role: roleOf(first), parts: group, value: () => first.raw }]
    return group.map((part) => ({ role: roleOf(part), parts: [part], value: () => itemFromScratch(part) }))
  })
}

function roleOf(part: Part): Role {
  if (part.kind === 'result') return 'tool'
  if (part.kind === 'instruction') return 'system'
  return part.kind === 'user' || part.kind === 'media' ? 'user' : 'assistant'
}

function itemFromScratch(part: Part): unknown {
  if (part.kind === 'call') {
    return { type: 'function_call', call_id: part.callId, name: part.toolName, arguments: part.text }
  }
  if (part.kind === 'result') return { type: 'function_call_output', call_id: part.callId, output: part.text }
  const role = roleOf(part)
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  return { type: 'message', role: role === 'system' ? 'developer' : role, content: [{ type, text: part.text }] }
}

const geminiShape: WireShape = {
  wire: 'gemini',

  fromUser(parts) {
    // Responses answer the model's calls in one content of their own, before anything the user says.
    const results = parts.filter((part) => part.kind === 'result')
    const others = parts.filter((part) => part.kind !== 'result')
    return [...content('user', results), ...content('user', others)]
  },

  fromModel: (parts) => content('model', parts),

  envelope({ system, tools }) {
    const instruction =
      system === undefined ? '' : `"systemInstruction":${JSON.stringify({ parts: [{ text: system }] })},`
    const declared = tools.length > 0 ? `"tools":[{"functionDeclarations":${toolList(tools)}}],` : ''
    return { before: `{${instruction}${declared}"contents":[`, after: ']}' }
  },
}

function content(role: 'user' | 'model', parts: readonly Part[]): readonly Rendered[] {
  // Thought summaries are for people; only the signatures on other parts travel back.
  const sendable = parts.filter((part) => part.raw !== undefined || (part.kind !== 'reasoning' && part.text !== ''))
  if (sendable.length === 0) return []
  const itemRole = role === 'model' ? 'assistant' : sendable[0]?.kind === 'result' ? 'tool' : 'user'
  return [{ role: itemRole, parts: sendable, value: () => ({ role, parts: sendable.map(toPart) }) }]
}

function toPart(part: Part): unknown {
  if (part.raw !== undefined) return part.raw
  if (part.kind === 'call') {
    return { functionCall: { id: part.callId, name: part.toolName, args: isRecord(part.input) ? part.input : {} } }
  }
  if (part.kind === 'result') {
    const key = part.isError === true ? 'error' : 'output'
    return { functionResponse: { id: part.callId, name: part.toolName, response: { [key]: part.text } } }
  }
  return { text: part.text }
}

export const SHAPES: Readonly<Record<Wire, WireShape>> = {
  'anthropic-messages': anthropicShape,
  'openai-chat': chatShape,
  'openai-responses': responsesShape,
  gemini: geminiShape,
}
