import type { Item, ItemCore } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import { groupByRole } from '../kit/writing.ts'
import type { Wire } from './wire.ts'

/** A tool call, independent of the wire. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: Fields
}

/** One entry of a chat, independent of the wire, because a session may continue with another provider. */
export type Entry =
  | { readonly type: 'user'; readonly text: string }
  | {
      readonly type: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      /** The wire's own message if it has more than text and calls (signatures); only used on that wire. */
      readonly raw?: { readonly wire: string; readonly value: unknown }
    }
  | {
      readonly type: 'result'
      readonly callId: string
      readonly name: string
      readonly text: string
      readonly isError: boolean
    }

/** A tool's declaration for the model. */
export interface ToolDeclared {
  readonly name: string
  readonly description: string
  readonly parameters: object
}

export interface ChatRequest {
  readonly model: string
  readonly system: string
  readonly tools: readonly ToolDeclared[]
  readonly entries: readonly Entry[]
  readonly maxOutputTokens: number
}

/** Writes a request for a stream, in the way that a conversation of another wire is written. */
export function writeChat(wire: Pick<Wire, 'id' | 'write' | 'codec'>, request: ChatRequest): string {
  const items = withAnswers(request.entries).flatMap((entry, message) => itemsOf(entry, wire.id, message))
  const { text } = wire.write({
    head: [request.system],
    turns: groupByRole(items),
    tools: request.tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })),
    settings: { model: request.model, stream: true, reasoning: false, maxOutputTokens: request.maxOutputTokens },
    sampling: {},
    losses: [],
    lose: () => {},
    omit: () => [],
  })
  return wire.codec.placeCacheMarks?.(text) ?? text
}

function itemsOf(entry: Entry, wire: string, message: number): Item[] {
  const item = (core: ItemCore, role: Item['role']): Item => ({ ...core, id: '', role, message })
  if (entry.type === 'user') return [item({ kind: 'user', text: entry.text }, 'user')]
  if (entry.type === 'result') {
    const { callId, name: toolName, text, isError } = entry
    return [item({ kind: 'result', text, callId, toolName, isError: isError ? true : undefined }, 'tool')]
  }
  if (entry.raw?.wire === wire) return [item({ kind: 'opaque', text: JSON.stringify(entry.raw.value) }, 'assistant')]
  const said = item({ kind: 'assistant', text: entry.text }, 'assistant')
  return [
    ...(entry.text === '' ? [] : [said]),
    ...entry.calls.map(({ id: callId, name: toolName, input }) =>
      item({ kind: 'call', text: JSON.stringify(input), callId, toolName }, 'assistant'),
    ),
  ]
}

/** The process may have been killed before the call, during it, or before its result was noted. */
const UNKNOWN =
  'No result was kept: the session was interrupted. Whether this ran, and how far, is not known; check before doing it again.'

/**
 * Adds results to calls without one, which every provider would refuse. They exist when a process was killed between a call and its result; the
 * added result says so.
 */
export function withAnswers(entries: readonly Entry[]): readonly Entry[] {
  const whole: Entry[] = []
  let open: ToolCall[] = []
  const close = (): void => {
    for (const { id, name } of open) whole.push({ type: 'result', callId: id, name, text: UNKNOWN, isError: false })
    open = []
  }
  for (const entry of entries) {
    if (entry.type === 'result') {
      // A result without its call cannot be sent.
      if (!open.some(({ id }) => id === entry.callId)) continue
      open = open.filter(({ id }) => id !== entry.callId)
      whole.push(entry)
      continue
    }
    close()
    whole.push(entry)
    if (entry.type === 'assistant') open = [...entry.calls]
  }
  close()
  return whole
}
