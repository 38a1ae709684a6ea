import type { ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { parseEvent, Pieces, type Fields } from '../kit/pieces.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { addPartialArgs } from './partial-args.ts'
import { readResponse, TOOL_MARKS, unwrap } from './response.ts'
import { valueAt } from './source.ts'

/** One part while it grows: text in pieces, or a call whose arguments come bit by bit. */
interface Growing {
  readonly start: Fields
  readonly text?: Pieces
  readonly call?: Fields
}

/** Puts a streamed answer together again. Every chunk is a response of its own with the next parts. */
export function stream(): StreamReducer {
  const head: Fields = {}
  const candidate: Fields = {}
  const parts: Growing[] = []
  // Plain fields: an object with getters of its own would be kept, with the whole answer, until the next full collection.
  const seen: { done: boolean; error?: unknown } = { done: false }

  const onPart = (part: Readonly<Fields>): void => {
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

  const onCall = (part: Readonly<Fields>, call: Readonly<Fields>, last: Growing | undefined): void => {
    const isContinued = last?.call !== undefined && last.call['willContinue'] === true && call['name'] === undefined
    const args = isContinued ? (last.call['args'] as Fields) : structuredClone({ ...recordOf(call['args']) })
    const grown: Fields = isContinued ? last.call : { ...call, args }
    addPartialArgs(args, valueAt(call, 'partialArgs'))
    grown['willContinue'] = valueAt(call, 'willContinue') === true
    if (!isContinued) parts.push({ start: { ...part }, call: grown })
  }

  return Object.assign(seen, {
    push({ data }: StreamEvent): void {
      const event = parseEvent(data)
      if (event === undefined) return
      if (event['error'] !== undefined) {
        seen.error = event['error']
        return
      }
      const chunk = unwrap(event)
      for (const key of ['responseId', 'modelVersion', 'usageMetadata', 'promptFeedback']) {
        const value = valueAt(chunk, key)
        if (value !== undefined) head[key] = value
      }
      const next = recordOf(arrayOf(chunk['candidates'])?.[0])
      for (const part of arrayOf(recordOf(next?.['content'])?.['parts']) ?? []) onPart(recordOf(part) ?? {})
      for (const key of TOOL_MARKS) if (valueAt(next, key) !== undefined) candidate[key] = valueAt(next, key)
      const finish = valueAt(next, 'finishReason')
      if (finish !== undefined) candidate['finishReason'] = finish
      const isBlocked = valueAt(recordOf(head['promptFeedback']), 'blockReason') !== undefined
      if (finish !== undefined || isBlocked) seen.done = true
    },
    response: (): ModelResponse =>
      readResponse({
        ...head,
        candidates: [{ ...candidate, content: { role: 'model', parts: parts.map(finishPart) } }],
      }),
  })
}

const isPlainText = (part: Readonly<Fields>): boolean =>
  Object.keys(part).every((key) => key === 'text' || key === 'thought')

function finishPart({ start, text, call }: Growing): Fields {
  if (text !== undefined) return { ...start, text: text.text('text') }
  if (call === undefined) return start
  const { partialArgs: _pieces, partial_args: _more, willContinue: _flag, will_continue: _other, ...whole } = call
  const key = start['function_call'] === undefined ? 'functionCall' : 'function_call'
  return { ...start, [key]: whole }
}
