import type { Part } from '../recording.ts'
import { isRecord } from '../../../core/values.ts'
import { toolList, type Rendered, type WireShape } from './shape.ts'

export const geminiShape: WireShape = {
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
