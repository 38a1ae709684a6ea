import type { ModelResponse, StopReason, StreamReducer } from '../../core/codec.ts'
import type { Item, Media } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { amount, inOrder, knownUsage, type MutableFields, nested, Pieces, reducer } from '../kit/streams.ts'
import { type ItemCore, readCall, readPart, readReasoning, REASONING_KEYS } from './decode.ts'

/** The cached count is inside the prompt count. */
function readUsage(fields: Fields): Usage {
  const prompt = nested(fields, 'prompt_tokens_details')
  return {
    input: amount(fields, 'prompt_tokens'),
    // DeepSeek names the cached part on the top level.
    cacheRead:
      numberOf(prompt['cached_tokens']) !== undefined
        ? amount(prompt, 'cached_tokens')
        : amount(fields, 'prompt_cache_hit_tokens'),
    cacheWrite: amount(prompt, 'cache_write_tokens'),
    output: amount(fields, 'completion_tokens'),
    reasoning: amount(nested(fields, 'completion_tokens_details'), 'reasoning_tokens'),
  }
}

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'tool-use',
  function_call: 'tool-use',
  content_filter: 'refusal',
  error: 'error',
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const choice = recordOf(arrayOf(response['choices'])?.[0]) ?? {}
  const message = recordOf(choice['message']) ?? {}
  const items = readAnswer(message, REASONING_KEYS).map((core, at): Item => ({
    id: `r.${at}`,
    role: 'assistant',
    message: 0,
    ...core,
  }))
  const finish = stringOf(choice['finish_reason']) ?? ''
  const stop = stringOf(message['refusal']) ? 'refusal' : (STOPS[finish] ?? 'unknown')
  return {
    items,
    // Some servers say `stop` after a turn that calls tools.
    stop: stop === 'end' && items.some((item) => item.kind === 'call') ? 'tool-use' : stop,
    ranHostedTools: ranHostedTools(response, message) ? true : undefined,
    id: stringOf(response['id']),
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response['usage']),
  }
}

/** Sources that an answer quotes were searched for by the provider: OpenAI and OpenRouter, Perplexity, Groq. */
const ranHostedTools = (response: Fields, message: Fields): boolean =>
  [...MESSAGE_SOURCES.map((key) => message[key]), ...RESPONSE_SOURCES.map((key) => response[key])].some(
    (list) => (arrayOf(list)?.length ?? 0) > 0,
  )

const MESSAGE_SOURCES = ['annotations', 'executed_tools'] as const
const RESPONSE_SOURCES = ['citations', 'search_results'] as const

/** What the message of an answer holds, in the order in which a model reads it. */
export function readAnswer(message: Fields, reasoningKeys: readonly string[]): ItemCore[] {
  const reasoning = readReasoning(message, reasoningKeys)
  const content = message['content']
  const cores: ItemCore[] = []
  if (reasoning !== undefined) {
    const { keys: _, ...core } = reasoning
    cores.push(core)
  }
  if (typeof content === 'string' && content !== '') cores.push({ kind: 'assistant', text: content })
  for (const value of arrayOf(content) ?? []) {
    const part = recordOf(value) ?? {}
    cores.push(readPart(part, 'assistant', () => JSON.stringify(part)))
  }
  const refusal = stringOf(message['refusal'])
  if (refusal) cores.push({ kind: 'assistant', text: refusal })
  const audio = recordOf(message['audio'])
  if (audio !== undefined) cores.push(readAudio(audio))
  const calls = arrayOf(message['tool_calls']) ?? []
  const legacy = recordOf(message['function_call'])
  for (const value of legacy === undefined ? calls : [...calls, { function: legacy }]) {
    const call = recordOf(value) ?? {}
    cores.push(readCall(call, () => JSON.stringify(recordOf(call['function'])?.['arguments'] ?? {})))
  }
  return cores
}

function readAudio(audio: Readonly<Record<string, unknown>>): ItemCore {
  const media: Media = { type: 'audio', reference: stringOf(audio['id']), data: stringOf(audio['data']) }
  return { kind: 'media', text: stringOf(audio['transcript']) ?? '', sealed: true, media: [media] }
}

interface Call {
  readonly start: MutableFields
  readonly pieces: Pieces
}

/** Puts a streamed completion together again, from the first choice's deltas. */
export function stream(): StreamReducer {
  const head: MutableFields = {}
  let usage: unknown
  let finish: unknown = null
  const text = new Pieces()
  const details: unknown[] = []
  const sources: MutableFields = {}
  const calls = new Map<number, Call>()

  const onCalls = (deltas: readonly unknown[]): void => {
    for (const [at, value] of deltas.entries()) {
      const { index: given, function: asked, custom, ...rest } = recordOf(value) ?? {}
      // Servers that send a call whole may leave the index out.
      const index = numberOf(given) ?? (stringOf(rest['id']) === undefined ? at : calls.size)
      const call = calls.get(index) ?? { start: {}, pieces: new Pieces() }
      calls.set(index, call)
      for (const [key, inner] of Object.entries(rest)) if (inner !== null) call.start[key] = inner
      if (recordOf(custom) !== undefined) call.start['type'] = 'custom'
      call.pieces.addAll('', recordOf(asked) ?? recordOf(custom))
    }
  }

  const onDelta = (delta: Fields): void => {
    const { role: _, audio, function_call: legacy, ...said } = delta
    text.addAll('', said)
    text.addAll('audio.', recordOf(audio))
    text.addAll('function_call.', recordOf(legacy))
    details.push(...(arrayOf(delta['reasoning_details']) ?? []))
    for (const key of MESSAGE_SOURCES) if (arrayOf(delta[key]) !== undefined) sources[key] = delta[key]
    onCalls(arrayOf(delta['tool_calls']) ?? [])
  }

  const message = (): MutableFields => {
    const out: MutableFields = { role: 'assistant', content: null, ...text.under(''), ...sources }
    for (const key of ['audio', 'function_call']) {
      const pieces = text.under(`${key}.`)
      if (Object.keys(pieces).length > 0) out[key] = pieces
    }
    if (details.length > 0) out['reasoning_details'] = joinDetails(details)
    if (calls.size > 0) {
      out['tool_calls'] = inOrder(calls).map(({ start, pieces }) => ({
        id: start['id'],
        type: 'function',
        ...start,
        [start['type'] === 'custom' ? 'custom' : 'function']: pieces.under(''),
      }))
    }
    return out
  }

  const body = (): Fields => ({ ...head, usage, choices: [{ index: 0, message: message(), finish_reason: finish }] })
  return reducer(readResponse, body, (event) => {
    for (const key of ['id', 'model', ...RESPONSE_SOURCES]) if (event[key] !== undefined) head[key] ??= event[key]
    // The usage chunk has no choices; some servers put running totals into every chunk, so the last one counts.
    if (recordOf(event['usage']) !== undefined) usage = event['usage']
    for (const value of arrayOf(event['choices']) ?? []) {
      const choice = recordOf(value) ?? {}
      if ((numberOf(choice['index']) ?? 0) !== 0) continue
      onDelta(recordOf(choice['delta']) ?? {})
      finish = choice['finish_reason'] ?? finish
    }
  })
}

/** Pieces of one entry share its index; their texts are joined, everything else is taken from where it came last. */
function joinDetails(details: readonly unknown[]): MutableFields[] {
  const entries = new Map<unknown, { fields: MutableFields; pieces: Pieces }>()
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
