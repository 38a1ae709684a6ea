import type { Fields } from '../../core/values.ts'

/** How a chat of our own is written in one wire. Reading answers is the codec's. */
export interface ChatWire {
  /** A request for a stream. */
  body(request: ChatRequest, endpoint: { readonly isLocal: boolean }): string
  /** Collects what must be sent back exactly; absent where text and calls say it all. */
  keeper?(): { push(event: Fields): void; value(): unknown }
}

/** A call of a tool, as every wire can say it. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: Fields
}

/** One thing in a chat, in no wire's words: a session may go on with another provider. */
export type Entry =
  | { readonly type: 'user'; readonly text: string }
  | {
      readonly type: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      /** The wire's own message where it holds more than text and calls (signatures); for that wire only. */
      readonly raw?: { readonly wire: string; readonly value: unknown }
    }
  | {
      readonly type: 'result'
      readonly callId: string
      readonly name: string
      readonly text: string
      readonly isError: boolean
    }

/** What the model sees of a tool. */
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

/** Runs of entries that stand in one message: results of one step, texts of one person. */
export function runsOf(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const runs: Entry[][] = []
  for (const entry of entries) {
    if (entry.type === 'assistant' && entry.text === '' && entry.calls.length === 0) continue
    const last = runs.at(-1)
    const joins = last !== undefined && entry.type !== 'assistant' && last[0]!.type !== 'assistant'
    if (joins) last.push(entry)
    else runs.push([entry])
  }
  return runs
}

/** It cannot be known: the process may have been killed before the call, in the middle of it, or between its end and our note of it. */
const UNKNOWN =
  'No result was kept: the session was interrupted. Whether this ran, and how far, is not known; check before doing it again.'

/**
 * Calls without a result would be refused by every provider. They stay behind when a process is killed between a call and
 * its result; the model is told so.
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
