import type { Part } from '../recording.ts'
import { groupByRaw, toolList, type Rendered, type WireShape } from './shape.ts'

export const chatShape: WireShape = {
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
