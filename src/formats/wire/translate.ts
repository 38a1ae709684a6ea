import type { ModelResponse, StreamEvent } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Item } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import { parseEvent } from '../kit/streams.ts'
import type { AnswerHead, AnswerPart, AnswerPiece, AnswerWriter } from './answer.ts'
import type { Wire } from './wire.ts'

/** Translates a stream of one wire into another, event by event. */
export interface StreamTranslation {
  push(event: StreamEvent): readonly StreamEvent[]
  /** The error that the stream reported, after which no events follow. */
  error(): unknown
  /** The events that end the answer, with its usage. */
  end(): readonly StreamEvent[]
}

export function translateStream(
  from: Pick<Wire, 'codec' | 'answers'>,
  writer: AnswerWriter,
  head: AnswerHead,
): StreamTranslation {
  const reducer = from.codec.stream()
  const parts: AnswerPart[] = []
  const known = new Set<string>()
  let open: { readonly key: string; readonly part: AnswerPart; readonly pieces: string[] } | undefined
  let hasBegun = false

  const closeOpen = (): readonly StreamEvent[] => {
    if (open === undefined) return []
    const part = { ...open.part, text: open.pieces.join('') }
    const index = parts.push(part) - 1
    open = undefined
    return writer.close(head, part, index)
  }
  const take = (given: AnswerPiece): readonly StreamEvent[] => {
    const { kind, key, text } = given
    if (!writer.shows(kind)) return []
    const events: StreamEvent[] = []
    if (open === undefined || open.key !== key || key === '') {
      events.push(...closeOpen())
      // Parts are written one after the other on wires that number them; no known provider interleaves its calls.
      if (kind === 'call' && key !== '' && known.has(key)) {
        throw new PlimsollError('upstream', 'The answer mixes the arguments of several calls.')
      }
      known.add(key)
      const part: AnswerPart = {
        kind,
        text: '',
        ...(kind === 'call' && { id: given.id ?? `call_${head.id}_${parts.length}`, name: given.name ?? 'tool' }),
      }
      open = { key, part, pieces: [] }
      events.push(...writer.open(head, part, parts.length))
    }
    if (text !== '') {
      open.pieces.push(text)
      events.push(...writer.grow(head, open.part, parts.length, text))
    }
    return events
  }
  const begin = (): readonly StreamEvent[] => {
    if (hasBegun) return []
    hasBegun = true
    return writer.begin(head)
  }
  return {
    push(event) {
      reducer.push(event)
      if (reducer.error !== undefined) return []
      const fields = parseEvent(event.data)
      return [...begin(), ...(fields === undefined ? [] : from.answers.pieces(fields).flatMap(take))]
    },
    error: () => reducer.error,
    end() {
      const { stop, usage } = reducer.response()
      return [...begin(), ...closeOpen(), ...writer.end(head, { parts, stop, usage })]
    },
  }
}

/** Translates a whole answer of one wire into another. */
export function translateWhole(response: ModelResponse, writer: AnswerWriter, head: AnswerHead): Fields {
  const { items, stop, usage } = response
  const parts = items.flatMap((item, at) => partOf(item, `call_${head.id}_${at}`))
  return writer.whole(head, { parts, stop, usage })
}

function partOf(item: Item, callId: string): AnswerPart[] {
  if (item.serverSide === true) return []
  if (item.kind === 'call') {
    return [{ kind: 'call', text: item.text, id: item.callId ?? callId, name: item.toolName ?? 'tool' }]
  }
  if (item.kind === 'assistant') return [{ kind: 'text', text: item.text }]
  if (item.kind === 'reasoning') return item.text === '' ? [] : [{ kind: 'reasoning', text: item.text }]
  return item.kind === 'media' ? [{ kind: 'text', text: '[media left out]' }] : []
}
