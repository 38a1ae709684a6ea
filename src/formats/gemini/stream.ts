import type { ModelResponse, StopReason, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { amount, knownUsage, type MutableFields, Pieces, reducer } from '../kit/streams.ts'
import { readPart, valueAt } from './decode.ts'

/** The cached count is inside the prompt count; thoughts stand beside the answer. */
function readUsage(fields: Fields): Usage {
  const count = (name: string): number => amount({ value: valueAt(fields, name) }, 'value')
  const reasoning = count('thoughtsTokenCount')
  return {
    // Results of Google's own tools are billed as prompt beside it.
    input: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    cacheRead: count('cachedContentTokenCount'),
    cacheWrite: 0,
    output: count('candidatesTokenCount') + reasoning,
    reasoning,
  }
}

const STOPS: Readonly<Record<string, StopReason>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
  IMAGE_PROHIBITED_CONTENT: 'refusal',
  IMAGE_RECITATION: 'refusal',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  OTHER: 'error',
}

/** Code Assist wraps the answer as it wraps the request. */
function unwrap(body: unknown): Fields {
  const fields = recordOf(body) ?? {}
  return recordOf(fields['response']) ?? fields
}

export function readResponse(body: unknown): ModelResponse {
  const response = unwrap(body)
  const candidate = recordOf(arrayOf(response['candidates'])?.[0]) ?? {}
  const parts = arrayOf(recordOf(candidate['content'])?.['parts']) ?? []
  const items = parts.map((value, at): Item => {
    const part = recordOf(value) ?? {}
    return { id: `r.${at}`, message: 0, ...readPart(part, 'assistant', (...keys) => rawAt(part, keys)) }
  })
  const blocked = valueAt(recordOf(valueAt(response, 'promptFeedback')), 'blockReason') !== undefined
  const stop = blocked ? 'refusal' : (STOPS[stringOf(valueAt(candidate, 'finishReason')) ?? ''] ?? 'unknown')
  return {
    items,
    // This wire has no finish reason of its own for calls.
    stop: stop === 'end' && items.some((item) => item.kind === 'call' && item.serverSide !== true) ? 'tool-use' : stop,
    ranHostedTools: ranHostedTools(response, candidate) ? true : undefined,
    id: stringOf(valueAt(response, 'responseId')),
    model: stringOf(valueAt(response, 'modelVersion')),
    usage: knownUsage(readUsage, valueAt(response, 'usageMetadata')),
  }
}

/** An answer that was grounded in a search or in pages: what they said is in its count. Empty marks stand in many that were not. */
function ranHostedTools(response: Fields, candidate: Fields): boolean {
  const found = TOOL_MARKS.map((key) => recordOf(valueAt(candidate, key)))
  const counted = numberOf(valueAt(recordOf(valueAt(response, 'usageMetadata')), 'toolUsePromptTokenCount')) ?? 0
  return counted > 0 || found.some((mark) => mark !== undefined && Object.keys(mark).length > 0)
}

const TOOL_MARKS = ['groundingMetadata', 'urlContextMetadata'] as const

function rawAt(part: Fields, keys: readonly string[]): string {
  let at: unknown = part
  for (const key of keys) at = valueAt(recordOf(at), key)
  return JSON.stringify(at) ?? ''
}

const STEP = /\.([^.[\]]+)|\['([^']*)'\]|\[(\d+)\]/g

/** Adds streamed pieces of a call's arguments: each names its place (`$.a.b[0]`) and brings a value or more of a string. */
function addPartialArgs(args: MutableFields, partials: unknown): void {
  for (const value of arrayOf(partials) ?? []) {
    const partial = recordOf(value) ?? {}
    const path = stringOf(valueAt(partial, 'jsonPath')) ?? ''
    const steps = [...path.matchAll(STEP)].map((step) =>
      step[3] === undefined ? (step[1] ?? step[2]!) : Number(step[3]),
    )
    const last = steps.pop()
    if (last === undefined || [...steps, last].some(isOutside)) continue
    const holder = holderAt(args, steps, typeof last === 'number')
    if (holder === undefined) continue
    const before = holder[last]
    const piece = pieceOf(partial)
    holder[last] = typeof before === 'string' && typeof piece === 'string' ? before + piece : piece
  }
}

/** A place in the prototype is no place in the arguments, and no tool takes a list of millions. */
const isOutside = (step: string | number): boolean =>
  step === '__proto__' || (typeof step === 'number' && step > 10_000)

/** Walks down to the object that shall take the value, making what is missing. */
function holderAt(
  args: MutableFields,
  steps: readonly (string | number)[],
  endsInList: boolean,
): MutableFields | undefined {
  let at: MutableFields = args
  for (const [i, step] of steps.entries()) {
    const wantsList = i + 1 < steps.length ? typeof steps[i + 1] === 'number' : endsInList
    at[step] ??= wantsList ? [] : {}
    const next = at[step]
    if (typeof next !== 'object' || next === null) return undefined
    at = next as MutableFields
  }
  return at
}

function pieceOf(partial: Fields): unknown {
  for (const key of ['stringValue', 'numberValue', 'boolValue']) {
    const value = valueAt(partial, key)
    if (value !== undefined) return value
  }
  return null
}

/** One part while it grows: text in pieces, or a call whose arguments come bit by bit. */
interface Growing {
  readonly start: MutableFields
  readonly text?: Pieces
  readonly call?: MutableFields
}

/** Puts a streamed answer together again. Every chunk is a response of its own with the next parts. */
export function stream(): StreamReducer {
  const head: MutableFields = {}
  const candidate: MutableFields = {}
  const parts: Growing[] = []

  const onPart = (part: Fields): void => {
    const last = parts.at(-1)
    const call = recordOf(valueAt(part, 'functionCall'))
    if (call !== undefined) {
      onCall(part, call, last)
      return
    }
    const text = stringOf(part['text'])
    if (text === undefined || !isPlainText(part)) {
      parts.push({ start: { ...part } })
      return
    }
    // Text that arrives in chunks is one part; a part with a signature stays by itself, as it was issued.
    const joins = last?.text !== undefined && (last.start['thought'] === true) === (part['thought'] === true)
    const grown = joins ? last : { start: { ...part }, text: new Pieces() }
    if (!joins) parts.push(grown)
    grown.text!.add('text', text)
  }

  const onCall = (part: Fields, call: Fields, last: Growing | undefined): void => {
    const isContinued = last?.call !== undefined && last.call['willContinue'] === true && call['name'] === undefined
    const args = isContinued ? (last.call['args'] as MutableFields) : structuredClone({ ...recordOf(call['args']) })
    const grown: MutableFields = isContinued ? last.call : { ...call, args }
    addPartialArgs(args, valueAt(call, 'partialArgs'))
    grown['willContinue'] = valueAt(call, 'willContinue') === true
    if (!isContinued) parts.push({ start: { ...part }, call: grown })
  }

  const body = (): Fields => ({
    ...head,
    candidates: [{ ...candidate, content: { role: 'model', parts: parts.map(finishPart) } }],
  })
  return reducer(readResponse, body, (event, seen) => {
    const chunk = unwrap(event)
    for (const key of ['responseId', 'modelVersion', 'usageMetadata', 'promptFeedback']) {
      const value = valueAt(chunk, key)
      if (value !== undefined) head[key] = value
    }
    const next = recordOf(arrayOf(chunk['candidates'])?.[0])
    for (const part of arrayOf(recordOf(next?.['content'])?.['parts']) ?? []) onPart(recordOf(part) ?? {})
    for (const key of [...TOOL_MARKS, 'finishReason']) {
      const value = valueAt(next, key)
      if (value !== undefined) candidate[key] = value
    }
    const isBlocked = valueAt(recordOf(head['promptFeedback']), 'blockReason') !== undefined
    if (candidate['finishReason'] !== undefined || isBlocked) seen.done = true
  })
}

const isPlainText = (part: Fields): boolean => Object.keys(part).every((key) => key === 'text' || key === 'thought')

function finishPart({ start, text, call }: Growing): MutableFields {
  if (text !== undefined) return { ...start, text: text.text('text') }
  if (call === undefined) return start
  const { partialArgs: _pieces, partial_args: _more, willContinue: _flag, will_continue: _other, ...whole } = call
  const key = start['function_call'] === undefined ? 'functionCall' : 'function_call'
  return { ...start, [key]: whole }
}
