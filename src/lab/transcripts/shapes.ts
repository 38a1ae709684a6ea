import { type Item, mediaBytes } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, parsedJson, recordsIn, textOf } from '../../core/values.ts'
import { REASONING_KEYS } from '../../formats/openai-chat/decode.ts'
import { CODECS } from '../../formats/registry.ts'
import type { Part, RecordedTool, Wire } from './recording.ts'
import { at, withoutKeys } from './values.ts'

/** What a loader reads, in the wire's form: a text, a block of a message (Anthropic, Gemini), or a whole element of the history (OpenAI). */
export type Piece = string | Fields

export type Side = 'user' | 'assistant'

interface Head {
  readonly system: string | undefined
  readonly tools: readonly RecordedTool[]
  readonly model: string
}

/** How one wire writes a recording. The result follows the wire's rules about roles and pairs. */
interface WireShape {
  /** The member of a request that contains the history. */
  readonly list: 'messages' | 'input' | 'contents'
  /** Elements of the history for these pieces: one answer, or everything between two answers. */
  elements(side: Side, pieces: readonly Piece[]): readonly Fields[]
  /** The piece as it may be sent back, with or without its reasoning; undefined if nothing is left. */
  sendable(piece: Piece, keepsReasoning: boolean): Piece | undefined
  result(callId: string | undefined, tool: string | undefined, text: string): Fields
  /** The body around the history: its JSON is `before + messages.join(',') + after`. */
  envelope(head: Head): { readonly before: string; readonly after: string }
}

const toolList = (tools: readonly RecordedTool[]): string => `[${tools.map((tool) => tool.json).join(',')}]`

// The API requires max_tokens, and recordings do not contain it.
const MAX_TOKENS = 8192

const anthropicShape: WireShape = {
  list: 'messages',
  elements(role, pieces) {
    const [results, others] = split(pieces, (piece) => at(piece, 'type') === 'tool_result')
    // A message that answers calls must begin with the results.
    const blocks = [...results, ...others]
    if (blocks.length === 0) return []
    const [only] = blocks
    if (blocks.length === 1 && typeof only === 'string') return [{ role, content: only }]
    return [
      { role, content: blocks.map((block) => (typeof block === 'string' ? { type: 'text', text: block } : block)) },
    ]
  },
  sendable(block, keepsReasoning) {
    // Empty text is refused, and thinking without its signature cannot be sent back.
    if (typeof block === 'string') return block.trim() === '' ? undefined : block
    if (block['type'] === 'text') return textOf(block['text']).trim() === '' ? undefined : block
    if (block['type'] === 'thinking') return keepsReasoning && textOf(block['signature']) !== '' ? block : undefined
    return keepsReasoning || block['type'] !== 'redacted_thinking' ? block : undefined
  },
  result: (callId, _tool, text) => ({ type: 'tool_result', tool_use_id: callId, content: text, is_error: true }),
  envelope({ system, tools, model }) {
    const head = { model, max_tokens: MAX_TOKENS, system }
    const withTools = tools.length > 0 ? `,"tools":${toolList(tools)}` : ''
    return { before: `${JSON.stringify(head).slice(0, -1)}${withTools},"messages":[`, after: ']}' }
  },
}

function split<T>(all: readonly T[], matches: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter(matches), all.filter((one) => !matches(one))]
}

const chatShape: WireShape = {
  list: 'messages',
  elements(role, pieces) {
    const messages = pieces.map((piece) => (typeof piece === 'string' ? { role, content: piece } : piece))
    if (role === 'assistant') return messages.length > 1 ? [joinedAnswer(messages)] : messages
    // Tool messages must directly follow the assistant message with their calls.
    const [results, others] = split(messages, (message) => message['role'] === 'tool' || message['role'] === 'function')
    return [...results, ...others]
  },
  sendable: (message, keepsReasoning) =>
    keepsReasoning || typeof message === 'string' ? message : withoutKeys(message, REASONING_KEYS),
  result: (callId, _tool, text) => ({ role: 'tool', tool_call_id: callId, content: text }),
  envelope({ system, tools, model }) {
    const first = system === undefined ? '' : `${JSON.stringify({ role: 'system', content: system })},`
    const declared = tools.length > 0 ? `,"tools":${toolList(tools)}` : ''
    return { before: `{"model":${JSON.stringify(model)}${declared},"messages":[${first}`, after: ']}' }
  },
}

/** Joins the lines of a response into one message, because its calls must stand together before their results. */
function joinedAnswer(messages: readonly Fields[]): Fields {
  const said = (key: string): string | undefined => {
    const texts = messages.map((message) => textOf(message[key])).filter((text) => text !== '')
    return texts.length > 0 ? texts.join('\n') : undefined
  }
  const calls = messages.flatMap((message) => recordsIn(message['tool_calls']))
  return {
    role: 'assistant',
    content: said('content') ?? null,
    reasoning_content: said('reasoning_content'),
    tool_calls: calls.length > 0 ? calls : undefined,
  }
}

const responsesShape: WireShape = {
  list: 'input',
  elements: (role, pieces) =>
    pieces.map((piece) => {
      if (typeof piece !== 'string') return piece
      const type = role === 'assistant' ? 'output_text' : 'input_text'
      return { type: 'message', role, content: [{ type, text: piece }] }
    }),
  sendable: (item, keepsReasoning) => (keepsReasoning || at(item, 'type') !== 'reasoning' ? item : undefined),
  result: (callId, _tool, text) => ({ type: 'function_call_output', call_id: callId, output: text }),
  envelope({ system, tools, model }) {
    const instructions = system === undefined ? '' : `,"instructions":${JSON.stringify(system)}`
    const declared = tools.length > 0 ? `,"tools":${toolList(tools)}` : ''
    return {
      before: `{"model":${JSON.stringify(model)}${instructions}${declared},"input":[`,
      after: '],"store":false}',
    }
  },
}

const geminiShape: WireShape = {
  list: 'contents',
  elements(side, pieces) {
    const parts = pieces.map((piece) => (typeof piece === 'string' ? { text: piece } : piece))
    const [results, others] = split(parts, (part) => part['functionResponse'] !== undefined)
    const role = side === 'assistant' ? 'model' : 'user'
    // Responses answer the model's calls in a separate content before the user's text.
    return [results, others].filter((group) => group.length > 0).map((group) => ({ role, parts: group }))
  },
  // Thought summaries are for users; only signatures on other parts are sent back.
  sendable: (part) => (part === '' || at(part, 'thought') === true ? undefined : part),
  result: (id, name, text) => ({ functionResponse: { id, name, response: { error: text } } }),
  envelope({ system, tools }) {
    const instruction =
      system === undefined ? '' : `"systemInstruction":${JSON.stringify({ parts: [{ text: system }] })},`
    const declared = tools.length > 0 ? `"tools":[{"functionDeclarations":${toolList(tools)}}],` : ''
    return { before: `{${instruction}${declared}"contents":[`, after: ']}' }
  },
}

export const SHAPES: Readonly<Record<Wire, WireShape>> = {
  'anthropic-messages': anthropicShape,
  'openai-chat': chatShape,
  'openai-responses': responsesShape,
  gemini: geminiShape,
}

/** Reads elements of a history with the wire's codec. Undefined for elements that it cannot read: wrong types, or values nested too deep. */
export function partsOf(wire: Wire, elements: readonly Fields[]): readonly Part[] | undefined {
  try {
    const { head, items } = CODECS[wire].decode(JSON.stringify({ [SHAPES[wire].list]: elements }))
    return [...head, ...items].map(partOf)
  } catch {
    return undefined
  }
}

function partOf(item: Item): Part {
  const { kind, role, text, callId, toolName, isError, serverSide } = item
  const bytes = mediaBytes(item)
  return {
    kind,
    role,
    text,
    callId,
    toolName,
    isError,
    serverSide,
    // A custom tool takes free text.
    input: kind === 'call' ? (parsedJson(text) ?? text) : undefined,
    mediaBytes: bytes > 0 ? bytes : undefined,
  }
}

/** Reads usage in the form of its wire. */
export const usageOn = (wire: Wire, usage: unknown): Usage | undefined =>
  CODECS[wire].readResponse({ [wire === 'gemini' ? 'usageMetadata' : 'usage']: usage }).usage

/** The content of a message as a list: a string becomes one piece. */
export const piecesOf = (content: unknown): readonly Piece[] =>
  typeof content === 'string' ? [content] : recordsIn(content)
