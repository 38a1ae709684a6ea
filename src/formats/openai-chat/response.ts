import type { ModelResponse, StopReason } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { readCall, readPart, readReasoning, type ItemCore } from './parts.ts'
import { knownUsage } from '../wire/usage.ts'
import { usage } from './usage.ts'

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
  const items = readAnswer(message).map((core, at): Item => ({ id: `r.${at}`, role: 'assistant', message: 0, ...core }))
  const finish = stringOf(choice['finish_reason']) ?? ''
  const stop = stringOf(message['refusal']) ? 'refusal' : (STOPS[finish] ?? 'unknown')
  return {
    items,
    // Some servers say `stop` after a turn that calls tools.
    stop: stop === 'end' && items.some((item) => item.kind === 'call') ? 'tool-use' : stop,
    ...(ranHostedTools(response, message) && { ranHostedTools: true as const }),
    ...defined({
      id: stringOf(response['id']),
      model: stringOf(response['model']),
      usage: knownUsage(usage, response['usage']),
    }),
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Sources that an answer quotes were searched for by the provider: OpenAI and OpenRouter, Perplexity, Groq. */
const ranHostedTools = (response: Fields, message: Fields): boolean =>
  [...MESSAGE_SOURCES.map((key) => message[key]), ...RESPONSE_SOURCES.map((key) => response[key])].some(
    (list) => (arrayOf(list)?.length ?? 0) > 0,
  )

export const MESSAGE_SOURCES = ['annotations', 'executed_tools'] as const
export const RESPONSE_SOURCES = ['citations', 'search_results'] as const

function readAnswer(message: Readonly<Record<string, unknown>>): ItemCore[] {
  const reasoning = readReasoning(message)
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
  const media = defined({ type: 'audio' as const, reference: stringOf(audio['id']), data: stringOf(audio['data']) })
  return { kind: 'media', text: stringOf(audio['transcript']) ?? '', sealed: true, media: [media] }
}
