import { framingOfWire } from '../../src/formats/registry.ts'
import { join } from 'node:path'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item, ItemKind, ToolDeclaration } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'
import { createMeter } from '../../src/meter/index.ts'
import { readLines } from './shared.ts'
import { quantile } from './statistics.ts'
import { percent, row, title } from './table.ts'

interface ExactRow {
  readonly provider: string
  readonly model: string
  readonly input_tokens: number
  readonly flags: readonly string[]
  readonly request: Readonly<Record<string, unknown>>
}

type Fields = Readonly<Record<string, unknown>>

/** Whole requests as they were sent, small and cold, against the provider's count of them. */
export async function benchRequests(data: string): Promise<void> {
  title("Whole recorded requests against the provider's count (exact tokenizer where there is one)")
  row('wire', ['requests', 'exact', 'median error', 'tokens', 'p90', 'in interval'])
  const tokenizers = createTokenizers()
  await Promise.all(['o200k', 'cl100k', 'gemini'].map((family) => tokenizers.load(family)))
  const meter = createMeter({ framingOf: framingOfWire, catalogue: bundledCatalogue(), tokenizerFor: tokenizers.get })
  for (const wire of ['openai-chat', 'openai-responses', 'anthropic', 'google']) {
    const rows = readLines<ExactRow>(join(data, `transcripts/token-usage/exact-${wire}.jsonl.gz`))
    for (const [label, wanted] of [
      ['text', ''],
      ['tools', 'tools'],
    ] as const) {
      const own = rows.filter(({ flags }) => flags.join() === wanted)
      const measured = own.map(({ model, request, input_tokens: real }) => ({
        real,
        count: meter.measure(model, read(wire, request), 0).raw,
      }))
      const errors = measured.map(({ real, count }) => Math.abs(count.tokens / real - 1))
      const exact = measured.filter(({ real, count }) => count.tokens === real).length
      const inside = measured.filter(({ real, count }) => count.low <= real && real <= count.high).length
      row(`${wire}, ${label}`, [
        String(own.length),
        String(exact),
        percent(quantile(errors, 0.5)),
        String(
          quantile(
            measured.map(({ real, count }) => Math.abs(count.tokens - real)),
            0.5,
          ),
        ),
        percent(quantile(errors, 0.9)),
        percent(inside / own.length),
      ])
    }
  }
}

function read(wire: string, request: Fields): Conversation {
  if (wire === 'anthropic') return readAnthropic(request)
  if (wire === 'google') return readGoogle(request)
  return wire === 'openai-responses' ? readResponses(request) : readChat(request)
}

function conversation(
  format: string,
  head: readonly Item[],
  items: readonly Item[],
  tools: readonly unknown[],
): Conversation {
  const declared: ToolDeclaration[] = tools.map((tool, index) => ({ name: `tool${index}`, text: JSON.stringify(tool) }))
  return {
    format,
    head,
    items,
    tools: declared,
    settings: { stream: false, reasoning: false },
    source: { format, value: undefined },
  }
}

function item(kind: ItemKind, text: string, message: number, more: Partial<Item> = {}): Item {
  const role = kind === 'instruction' ? 'system' : kind === 'result' ? 'tool' : kind === 'user' ? 'user' : 'assistant'
  return { id: `${message}`, kind, role, text, message, ...more }
}

const list = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : [])
const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)
const textOf = (content: unknown): string =>
  Array.isArray(content)
    ? list(content)
        .map((part) => text(part['text']))
        .join('')
    : text(content)
const kindOf = (role: unknown): ItemKind =>
  role === 'user'
    ? 'user'
    : role === 'assistant' || role === 'model'
      ? 'assistant'
      : role === 'tool'
        ? 'result'
        : 'instruction'

function readChat(request: Fields): Conversation {
  const items = list(request['messages']).flatMap((message, index) => [
    item(kindOf(message['role']), textOf(message['content']), index),
    ...list(message['tool_calls']).map((call) => {
      const called = (call['function'] ?? {}) as Fields
      return item('call', text(called['arguments']), index, { toolName: text(called['name']) })
    }),
  ])
  return conversation('openai-chat', [], items, list(request['tools']))
}

function readResponses(request: Fields): Conversation {
  const input = request['input']
  const items = (typeof input === 'string' ? [{ role: 'user', content: input }] : list(input)).map(
    (entry: Fields, index) => {
      if (entry['type'] === 'function_call')
        return item('call', text(entry['arguments']), index, { toolName: text(entry['name']) })
      if (entry['type'] === 'function_call_output') return item('result', text(entry['output']), index)
      return item(kindOf(entry['role']), textOf(entry['content']), index)
    },
  )
  const head = typeof request['instructions'] === 'string' ? [item('instruction', request['instructions'], 0)] : []
  return conversation('openai-responses', head, items, list(request['tools']))
}

function readAnthropic(request: Fields): Conversation {
  const items = list(request['messages']).flatMap((message, index) => {
    const blocks =
      typeof message['content'] === 'string' ? [{ type: 'text', text: message['content'] }] : list(message['content'])
    return blocks.map((block: Fields) => {
      if (block['type'] === 'tool_use')
        return item('call', text(block['input']), index, { toolName: text(block['name']) })
      if (block['type'] === 'tool_result') return item('result', textOf(block['content']), index)
      return item(kindOf(message['role']), text(block['text']), index)
    })
  })
  const system = textOf(request['system'])
  return conversation(
    'anthropic-messages',
    system === '' ? [] : [item('instruction', system, 0)],
    items,
    list(request['tools']),
  )
}

function readGoogle(request: Fields): Conversation {
  const items = list(request['contents']).flatMap((content, index) =>
    list(content['parts']).map((part) => googlePart(part, kindOf(content['role'] ?? 'user'), index)),
  )
  const system = list(((request['systemInstruction'] ?? {}) as Fields)['parts'])
    .map((part) => text(part['text']))
    .join('')
  const tools = list(request['tools']).flatMap((tool) =>
    list(tool['functionDeclarations'] ?? tool['function_declarations']),
  )
  return conversation('gemini', system === '' ? [] : [item('instruction', system, 0)], items, tools)
}

function googlePart(part: Fields, kind: ItemKind, index: number): Item {
  const call = part['functionCall'] as Fields | undefined
  if (call !== undefined) return item('call', text(call['args'] ?? {}), index, { toolName: text(call['name']) })
  const response = part['functionResponse'] as Fields | undefined
  if (response !== undefined)
    return item('result', text(response['response']), index, { toolName: text(response['name']) })
  return item(kind, text(part['text']), index)
}
