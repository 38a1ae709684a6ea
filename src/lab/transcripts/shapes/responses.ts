import type { Role } from '../../../core/item.ts'
import type { Part } from '../recording.ts'
import { groupByRaw, toolList, type Rendered, type WireShape } from './shape.ts'

export const responsesShape: WireShape = {
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
    return group.map((part) => ({ role: roleOf(part), parts: [part], value: () => fromScratch(part) }))
  })
}

function roleOf(part: Part): Role {
  if (part.kind === 'result') return 'tool'
  if (part.kind === 'instruction') return 'system'
  return part.kind === 'user' || part.kind === 'media' ? 'user' : 'assistant'
}

function fromScratch(part: Part): unknown {
  if (part.kind === 'call') {
    return { type: 'function_call', call_id: part.callId, name: part.toolName, arguments: part.text }
  }
  if (part.kind === 'result') return { type: 'function_call_output', call_id: part.callId, output: part.text }
  const role = roleOf(part)
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  return { type: 'message', role: role === 'system' ? 'developer' : role, content: [{ type, text: part.text }] }
}
