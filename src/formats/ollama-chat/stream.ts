import type { ModelResponse, StopReason, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, listOf, recordOf, stringOf } from '../../core/values.ts'
import { amount, knownUsage, type MutableFields, Pieces, reducer } from '../kit/streams.ts'
import { readAnswer } from '../openai-chat/stream.ts'
import { REASONING_KEYS } from './decode.ts'

/** The counts stand beside the message, in the last line of a stream. Nothing is said about what was cached. */
const readUsage = (fields: Fields): Usage => ({
  input: amount(fields, 'prompt_eval_count'),
  cacheRead: 0,
  cacheWrite: 0,
  output: amount(fields, 'eval_count'),
  reasoning: 0,
})

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  load: 'unknown',
  unload: 'unknown',
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const message = recordOf(response['message']) ?? {}
  const items = readAnswer(message, REASONING_KEYS).map((core, at): Item => ({
    id: `r.${at}`,
    role: 'assistant',
    message: 0,
    ...core,
  }))
  const stop = STOPS[stringOf(response['done_reason']) ?? ''] ?? (response['error'] === undefined ? 'unknown' : 'error')
  return {
    items,
    // It says `stop` after a turn that calls tools as well.
    stop: stop === 'end' && items.some(({ kind }) => kind === 'call') ? 'tool-use' : stop,
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response),
  }
}

/** Puts a streamed answer together again: each line has a piece of the message, the last one the counts. */
export function stream(): StreamReducer {
  const text = new Pieces()
  const calls: unknown[] = []
  let head: MutableFields = {}
  const body = (): Fields => ({
    ...head,
    message: { ...text.under(''), tool_calls: calls.length > 0 ? calls : undefined },
  })
  return reducer(readResponse, body, ({ message, ...rest }, seen) => {
    const said = recordOf(message) ?? {}
    text.add('content', said['content'])
    text.add('thinking', said['thinking'])
    // Calls come whole.
    calls.push(...listOf(said['tool_calls']))
    head = { ...head, ...rest }
    if (rest['done'] === true) seen.done = true
  })
}
