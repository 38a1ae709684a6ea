import type { ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { Numbered, parseEvent, Pieces, type Fields } from '../kit/pieces.ts'
import { numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { MESSAGE_SOURCES, readResponse, RESPONSE_SOURCES } from './response.ts'

/** Puts a streamed completion together again, from the first choice's deltas. */
export function stream(): StreamReducer {
  let head: Fields = {}
  let usage: unknown
  let finish: unknown = null
  // Plain fields: an object with getters of its own would be kept, with the whole answer, until the next full collection.
  const seen: { done: boolean; error?: unknown } = { done: false }
  const text = new Pieces()
  const details: unknown[] = []
  const sources: Fields = {}
  const calls = new Numbered<{ start: Fields; pieces: Pieces }>()

  const onCalls = (deltas: readonly unknown[]): void => {
    for (const [at, value] of deltas.entries()) {
      const delta = recordOf(value) ?? {}
      // Servers that send a call whole may leave the index out.
      const index = numberOf(delta['index']) ?? (stringOf(delta['id']) === undefined ? at : calls.size)
      const call = calls.get(index) ?? calls.set(index, { start: {}, pieces: new Pieces() })
      const body = recordOf(delta['function']) ?? recordOf(delta['custom']) ?? {}
      for (const [key, inner] of Object.entries(delta)) {
        if (key !== 'function' && key !== 'custom' && inner !== null) call.start[key] = inner
      }
      if (recordOf(delta['custom']) !== undefined) call.start['type'] = 'custom'
      call.pieces.add('name', body['name'])
      call.pieces.add('arguments', body['arguments'])
      call.pieces.add('input', body['input'])
    }
  }

  const onDelta = (delta: Readonly<Fields>): void => {
    for (const key of ['content', 'refusal', 'reasoning_content', 'reasoning']) text.add(key, delta[key])
    const audio = recordOf(delta['audio'])
    for (const key of ['id', 'data', 'transcript']) text.add(`audio.${key}`, audio?.[key])
    const legacy = recordOf(delta['function_call'])
    for (const key of ['name', 'arguments']) text.add(`function_call.${key}`, legacy?.[key])
    details.push(...(arrayOf(delta['reasoning_details']) ?? []))
    for (const key of MESSAGE_SOURCES) if (arrayOf(delta[key]) !== undefined) sources[key] = delta[key]
    onCalls(arrayOf(delta['tool_calls']) ?? [])
  }

  const message = (): Fields => {
    const out: Fields = { role: 'assistant', content: null, ...text.under(''), ...sources }
    const audio = text.under('audio.')
    const legacy = text.under('function_call.')
    if (Object.keys(audio).length > 0) out['audio'] = audio
    if (Object.keys(legacy).length > 0) out['function_call'] = legacy
    if (details.length > 0) out['reasoning_details'] = joinDetails(details)
    const whole = calls.inOrder().map(({ start, pieces }) => {
      const isCustom = start['type'] === 'custom'
      return { ...start, [isCustom ? 'custom' : 'function']: pieces.under('') }
    })
    if (whole.length > 0) out['tool_calls'] = whole
    return out
  }

  return Object.assign(seen, {
    push({ data }: StreamEvent): void {
      if (data.trim() === '[DONE]') {
        seen.done = true
        return
      }
      const event = parseEvent(data)
      if (event === undefined) return
      if (event['error'] !== undefined && event['error'] !== null) {
        seen.error = event['error']
        return
      }
      for (const key of ['id', 'model', ...RESPONSE_SOURCES]) if (event[key] !== undefined) head[key] ??= event[key]
      // The usage chunk has no choices; some servers put running totals into every chunk, so the last one counts.
      if (recordOf(event['usage']) !== undefined) usage = event['usage']
      for (const value of arrayOf(event['choices']) ?? []) {
        const choice = recordOf(value) ?? {}
        if ((numberOf(choice['index']) ?? 0) !== 0) continue
        onDelta(recordOf(choice['delta']) ?? {})
        if (choice['finish_reason'] !== undefined && choice['finish_reason'] !== null) finish = choice['finish_reason']
      }
    },
    response: (): ModelResponse =>
      readResponse({ ...head, usage, choices: [{ index: 0, message: message(), finish_reason: finish }] }),
  })
}

/** Pieces of one entry share its index; their texts are joined, everything else is taken from where it came last. */
function joinDetails(details: readonly unknown[]): Fields[] {
  const entries = new Map<unknown, { fields: Fields; pieces: Pieces }>()
  for (const [at, value] of details.entries()) {
    const detail = recordOf(value) ?? {}
    const key = detail['index'] ?? `at ${at}`
    const entry = entries.get(key) ?? { fields: {}, pieces: new Pieces() }
    entries.set(key, entry)
    for (const [name, inner] of Object.entries(detail)) {
      if (name === 'text' || name === 'summary' || name === 'data') entry.pieces.add(name, inner)
      else if (inner !== null) entry.fields[name] = inner
    }
  }
  return [...entries.values()].map(({ fields, pieces }) => ({ ...fields, ...pieces.under('') }))
}
