import { type Fields, isRecord, recordOf, stringOf } from '../../core/values.ts'
import type { StreamEvent } from '../../core/codec.ts'
import { parseEvent } from '../kit/streams.ts'
import { arrayOf } from '../kit/reading.ts'

/** A call of one of our own tools, read off an answer. */
export interface HiddenCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/**
 * A step that the client saw only in part: one answer of the upstream with calls of ours, and our results. `beside` means that calls of
 * the client's own stood in it, too, so that both are answered together.
 */
export interface HiddenStep {
  readonly parts: readonly Fields[]
  readonly results: readonly Fields[]
  readonly beside: boolean
}

/** An event that passes as it came, or as it is rewritten. */
export type Passed = 'same' | StreamEvent

/** Which tools are ours. */
export type IsOurs = (name: string) => boolean

/** One visible stream, made of one or more answers of the upstream: each wire says what of an event its client gets. */
export abstract class VisibleStream {
  /** Answers of the upstream before the one at hand. */
  protected answers = 0
  /** The answer at hand calls one of our tools, so its end may not be the end. */
  protected hidesCalls = false
  /** Something was hidden: from there on events are written anew. */
  protected isChanged = false
  /** Parts of the answer at hand: number upstream → number that the client sees; undefined for calls of ours. */
  protected readonly shown = new Map<unknown, number | undefined>()
  #shownParts = 0
  readonly #wire: Pick<HiddenWire, 'callOf'>
  readonly #isOurs: IsOurs
  #held: StreamEvent[] = []

  constructor(wire: Pick<HiddenWire, 'callOf'>, isOurs: IsOurs) {
    this.#wire = wire
    this.#isOurs = isOurs
  }

  /** What the client gets for this event now. The end of an answer with calls of ours is held back. */
  push(event: StreamEvent): readonly Passed[] {
    return this.take(event, parseEvent(event.data))
  }

  /** The events that end the visible answer, where they were held back. */
  close(): readonly Passed[] {
    return this.#held.map((event) => this.ending(event, parseEvent(event.data)))
  }

  /** The upstream goes on with another answer. What the held end also carried for the client comes out first. */
  next(): readonly Passed[] {
    const said = this.#held.flatMap((event) => this.saidAtTheEnd(event, parseEvent(event.data)))
    this.answers++
    this.hidesCalls = false
    this.isChanged = true
    this.#held = []
    this.shown.clear()
    return said
  }

  /** Notes whether a part of the answer calls one of our tools. */
  protected isHidden(part: Fields): boolean {
    const isHidden = this.#wire.callOf(part, this.#isOurs) !== undefined
    this.hidesCalls ||= isHidden
    this.isChanged ||= isHidden
    return isHidden
  }

  /** Numbers a part that begins, where it is for the client. */
  protected begin(index: unknown, part: Fields): void {
    this.shown.set(index, this.isHidden(part) ? undefined : this.#shownParts++)
  }

  protected get hasShown(): boolean {
    return this.#shownParts > 0
  }

  /** An event that ends the answer: it waits where calls of ours stand in it. */
  protected end(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (!this.hidesCalls) return [this.ending(event, data)]
    this.#held.push(event)
    return []
  }

  protected abstract take(event: StreamEvent, data: Fields | undefined): readonly Passed[]

  /** The end as the client gets it. */
  protected ending(event: StreamEvent, _data: Fields | undefined): Passed {
    return event
  }

  protected saidAtTheEnd(_event: StreamEvent, _data: Fields | undefined): readonly Passed[] {
    return []
  }
}

/**
 * Whether a request has room for tools beside the client's own: `closed` keeps those that were declared before, since the model may not choose
 * freely this time; `no` takes none, because the provider would refuse them, the client could not be kept out of it, or it runs no tools.
 */
export type Admission = 'open' | 'closed' | 'no'

/** What is special about a wire when steps are hidden in it. A part is what an answer is a list of: a block, an item, a part. */
export interface HiddenWire {
  /** Where the history stands in a body. */
  readonly list: string
  /** By the members of a request. */
  admits(fields: Fields): Admission
  /** Our tool's call in a part; undefined for anything else. */
  callOf(part: Fields, isOurs: IsOurs): HiddenCall | undefined
  /** A call of whatever tool. */
  isCall(part: Fields): boolean
  resultOf(call: HiddenCall, text: string): Fields
  /** The answer and our results as history, for the upstream to go on from. */
  continuation(parts: readonly Fields[], results: readonly Fields[]): readonly Fields[]
  /** All results of one answer stand in one message. */
  readonly joinsResults: boolean
  partsOf(body: Fields): readonly Fields[]
  /** One whole answer from several: the visible parts, and the usage of the last, which tells how full the window is. */
  assemble(bodies: readonly Fields[], visible: readonly Fields[]): Fields
  stream(isOurs: IsOurs): VisibleStream
}

/** Which tools the model may or must call, in words that every wire has. */
export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required'
  /** The one tool that must be called. */
  readonly name?: string
  /** At most one call at a time. */
  readonly single?: true
}

const MODES: Readonly<Record<string, ToolChoice['mode']>> = {
  auto: 'auto',
  none: 'none',
  required: 'required',
  any: 'required',
  validated: 'auto',
}

/** Reads the choice of whatever wire; undefined when the body makes none. */
export function readToolChoice(request: Fields): ToolChoice | undefined {
  const choice = request['tool_choice']
  const config = recordOf(request['toolConfig'] ?? request['tool_config'])
  const calling = recordOf(config?.['functionCallingConfig'] ?? config?.['function_calling_config'])
  const fields = recordOf(choice)
  const mode =
    MODES[(stringOf(choice) ?? stringOf(fields?.['type']) ?? stringOf(calling?.['mode']) ?? '').toLowerCase()]
  const allowed = arrayOf(calling?.['allowedFunctionNames'] ?? calling?.['allowed_function_names'])
  const name =
    stringOf(recordOf(fields?.['function'])?.['name']) ??
    stringOf(fields?.['name']) ??
    (allowed?.length === 1 ? stringOf(allowed[0]) : undefined)
  const single = fields?.['disable_parallel_tool_use'] === true || request['parallel_tool_calls'] === false
  if (mode === undefined && name === undefined && !single) return undefined
  return {
    mode: name === undefined ? (mode ?? 'auto') : 'required',
    name,
    single: single ? true : undefined,
  }
}

/** By the choice that a request leaves the model, in whatever wire. */
export function byToolChoice(fields: Fields): Admission {
  const choice = readToolChoice(fields)
  const isLimited = isRecord(fields['tool_choice']) && fields['tool_choice']['type'] === 'allowed_tools'
  return isLimited || choice?.mode === 'none' || choice?.name !== undefined ? 'closed' : 'open'
}

export const eventOf = (original: StreamEvent, data: Fields): StreamEvent => ({
  event: original.event,
  data: JSON.stringify(data),
})

/** Arguments as the model wrote them; what is no JSON becomes no arguments, and the reader says what it needs. */
export function parseInput(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? {}
  try {
    return text.trim() === '' ? {} : (JSON.parse(text) as unknown)
  } catch {
    return {}
  }
}
