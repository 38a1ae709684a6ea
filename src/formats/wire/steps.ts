import { type Fields, isRecord, recordOf, stringOf, parsedJson } from '../../core/values.ts'
import type { StreamEvent } from '../../core/codec.ts'
import { parseEvent } from '../kit/streams.ts'
import { arrayOf } from '../kit/reading.ts'

/** A call of one of our tools in an answer. */
export interface HiddenCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

/**
 * A step that the client saw only in part: an upstream's answer with calls of our tools, and our results. `beside`: the answer also has calls of
 * the client's tools, so both are answered in one message.
 */
export interface HiddenStep {
  readonly parts: readonly Fields[]
  readonly results: readonly Fields[]
  readonly beside: boolean
}

/** An event that is forwarded: unchanged, or rewritten. */
export type Passed = 'same' | StreamEvent

export type IsOurs = (name: string) => boolean

/** One stream to the client, made of one or more answers of the upstream. Each wire decides what of an event the client gets. */
export abstract class VisibleStream {
  /** Number of the upstream's answers before the current one. */
  protected answers = 0
  /** The current answer calls one of our tools, so it may not be the last. */
  protected hidesCalls = false
  /** Something was hidden, so all later events are rewritten. */
  protected isChanged = false
  /** Parts of the current answer: the upstream's number and the client's; undefined for our calls. */
  protected readonly shown = new Map<unknown, number | undefined>()
  #shownParts = 0
  readonly #wire: Pick<HiddenWire, 'callOf'>
  readonly #isOurs: IsOurs
  #endEvents: StreamEvent[] = []

  constructor(wire: Pick<HiddenWire, 'callOf'>, isOurs: IsOurs) {
    this.#wire = wire
    this.#isOurs = isOurs
  }

  /** Returns the events for the client. The end of an answer with calls of ours is not forwarded yet. */
  push(event: StreamEvent): readonly Passed[] {
    return this.take(event, parseEvent(event.data))
  }

  /** Returns the events that end the visible answer, if they were not forwarded yet. */
  close(): readonly Passed[] {
    return this.#endEvents.map((event) => this.ending(event, parseEvent(event.data)))
  }

  /** The upstream continues with another answer. Returns what else the unforwarded end contained for the client. */
  next(): readonly Passed[] {
    const said = this.#endEvents.flatMap((event) => this.contentAtEnd(event, parseEvent(event.data)))
    this.answers++
    this.hidesCalls = false
    this.isChanged = true
    this.#endEvents = []
    this.shown.clear()
    return said
  }

  /** Detects a part that calls one of our tools. */
  protected isHidden(part: Fields): boolean {
    const isHidden = this.#wire.callOf(part, this.#isOurs) !== undefined
    this.hidesCalls ||= isHidden
    this.isChanged ||= isHidden
    return isHidden
  }

  /** Numbers a new part that is forwarded to the client. */
  protected begin(index: unknown, part: Fields): void {
    this.shown.set(index, this.isHidden(part) ? undefined : this.#shownParts++)
  }

  protected get hasShown(): boolean {
    return this.#shownParts > 0
  }

  /** Handles an event that ends the answer: it is not forwarded if the answer has calls of ours. */
  protected end(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (!this.hidesCalls) return [this.ending(event, data)]
    this.#endEvents.push(event)
    return []
  }

  protected abstract take(event: StreamEvent, data: Fields | undefined): readonly Passed[]

  /** The end event for the client. */
  protected ending(event: StreamEvent, _data: Fields | undefined): Passed {
    return event
  }

  protected contentAtEnd(_event: StreamEvent, _data: Fields | undefined): readonly Passed[] {
    return []
  }
}

/**
 * Whether tools can be added to a request: `closed` keeps those that were added before, because the model's choice is restricted this time; `no`
 * adds none, because the provider would refuse them, their calls could not be hidden, or the client has no tools.
 */
export type Admission = 'open' | 'closed' | 'no'

/** How steps are hidden in answers of a wire. A part is an element of an answer: a block, an item, a part. */
export interface HiddenWire {
  /** The member of a body that contains the history. */
  readonly list: string
  /** Decides by the members of a request. */
  admits(fields: Fields): Admission
  /** Our tool's call in a part; undefined for other parts. */
  callOf(part: Fields, isOurs: IsOurs): HiddenCall | undefined
  /** Whether a part is a call of any tool. */
  isCall(part: Fields): boolean
  resultOf(call: HiddenCall, text: string): Fields
  /** The answer and our results as history elements, with which the upstream continues. */
  continuation(parts: readonly Fields[], results: readonly Fields[]): readonly Fields[]
  /** All results of one answer are in one message. */
  readonly joinsResults: boolean
  partsOf(body: Fields): readonly Fields[]
  /** Joins several answers into one: the visible parts, and the last answer's usage, which shows how full the window is. */
  assemble(bodies: readonly Fields[], visible: readonly Fields[]): Fields
  stream(isOurs: IsOurs): VisibleStream
}

/** Which tools the model may or must call, independent of the wire. */
export interface ToolChoice {
  readonly mode: 'auto' | 'none' | 'required'
  /** The only tool that must be called. */
  readonly name?: string
  /** At most one call in an answer. */
  readonly single?: true
}

const MODES: Readonly<Record<string, ToolChoice['mode']>> = {
  auto: 'auto',
  none: 'none',
  required: 'required',
  any: 'required',
  validated: 'auto',
}

/** Reads the tool choice of any wire; undefined without one. */
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

/** Decides by the request's tool choice, on any wire. */
export function byToolChoice(fields: Fields): Admission {
  const choice = readToolChoice(fields)
  const isLimited = isRecord(fields['tool_choice']) && fields['tool_choice']['type'] === 'allowed_tools'
  return isLimited || choice?.mode === 'none' || choice?.name !== undefined ? 'closed' : 'open'
}

export const eventOf = (original: StreamEvent, data: Fields): StreamEvent => ({
  event: original.event,
  data: JSON.stringify(data),
})

/** A call's arguments. Invalid JSON becomes an empty object; the reader's error then names what is missing. */
export const parseInput = (text: unknown): unknown => (typeof text === 'string' ? parsedJson(text) : text) ?? {}
