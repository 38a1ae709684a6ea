import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { asyncProperty } from '../support/property.ts'

type Json = Record<string, unknown>

/** One exchange of a conversation: what the user said, and the steps that the model took before it answered. */
interface Exchange {
  readonly asked: number
  readonly steps: readonly number[]
  readonly answered: number
  readonly asParts: boolean
}

interface Roles {
  readonly url: string
  readonly list: string
  readonly user: (text: string, asParts: boolean) => Json
  readonly step: (id: string, result: string) => readonly Json[]
  readonly answer: (text: string) => Json
  readonly body: (messages: readonly Json[]) => Json
  readonly response: (tokens: number) => Json
}

const WIRES: Readonly<Record<string, Roles>> = {
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    list: 'messages',
    user: (text, asParts) => ({ role: 'user', content: asParts ? [{ type: 'text', text }] : text }),
    step: (id, content) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'bash', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content },
    ],
    answer: (content) => ({ role: 'assistant', content }),
    body: (messages) => ({
      model: 'gpt-4o',
      max_tokens: 300,
      messages,
      tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }],
    }),
    response: (tokens) => ({
      id: 'x',
      object: 'chat.completion',
      model: 'gpt-4o',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Ok.' } }],
      usage: { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 },
    }),
  },
  'anthropic-messages': {
    url: 'https://api.anthropic.com/v1/messages',
    list: 'messages',
    user: (text, asParts) => ({ role: 'user', content: asParts ? [{ type: 'text', text }] : text }),
    step: (id, content) => [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
    ],
    answer: (content) => ({ role: 'assistant', content }),
    body: (messages) => ({
      model: 'claude-sonnet-4-5',
      max_tokens: 300,
      messages,
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
    }),
    response: (tokens) => ({
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: 'Ok.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: tokens, output_tokens: 1 },
    }),
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent',
    list: 'contents',
    user: (text) => ({ role: 'user', parts: [{ text }] }),
    step: (id, output) => [
      { role: 'model', parts: [{ functionCall: { id, name: 'bash', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { id, name: 'bash', response: { output } } }] },
    ],
    answer: (text) => ({ role: 'model', parts: [{ text }] }),
    body: (contents) => ({
      contents,
      generationConfig: { maxOutputTokens: 300 },
      tools: [{ functionDeclarations: [{ name: 'bash' }] }],
    }),
    response: (tokens) => ({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Ok.' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 1, totalTokenCount: tokens + 1 },
    }),
  },
}

const length = fc.integer({ min: 40, max: 2_500 })
const exchanges: fc.Arbitrary<Exchange[]> = fc.array(
  fc.record({
    asked: length,
    steps: fc.array(length, { maxLength: 2 }),
    answered: length,
    asParts: fc.boolean(),
  }),
  { minLength: 14, maxLength: 22 },
)
const text = (name: string, size: number): string => `${name} ${'lorem ipsum dolor sit amet '.repeat(size / 26)}`

/** Places where two messages of the user, or two of the model, stand side by side. */
const neighbours = (messages: readonly Json[]): number[] =>
  messages.flatMap(({ role }, i) => (role !== 'tool' && role === messages[i - 1]?.['role'] ? [i] : []))

describe.each(Object.entries(WIRES))('a history of alternating roles, on %s', (_, wire) => {
  it('leaves with alternating roles, whatever was folded', async () => {
    let compacted = 0
    await asyncProperty(
      exchanges,
      async (plan) => {
        const problems: string[] = []
        const plimsoll = createPlimsoll({
          store: 'memory:',
          artifacts: 'memory:',
          window: 8_000,
          onEvent: ({ type }) => void (type === 'epoch-declared' && compacted++),
          fetch: async (_url, init) => {
            const sent = Buffer.from(init?.body as Uint8Array).toString()
            const messages = (JSON.parse(sent) as Json)[wire.list] as Json[]
            const found = neighbours(messages)
            if (found.length > 0) problems.push(messages.map(({ role }) => role).join(' '))
            return Response.json(wire.response(Math.ceil(sent.length / 4)))
          },
        })
        const messages: Json[] = []
        for (const [i, { asked, steps, answered, asParts }] of plan.entries()) {
          messages.push(wire.user(text(`Question ${i}:`, asked), asParts))
          const response = await plimsoll.fetch(wire.url, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
            body: JSON.stringify(wire.body(messages)),
          })
          expect(response.status).toBe(200)
          for (const [k, size] of steps.entries()) messages.push(...wire.step(`call_${i}_${k}`, text('Result:', size)))
          messages.push(wire.answer(text(`Answer ${i}:`, answered)))
        }
        await plimsoll.close()
        expect(problems).toEqual([])
      },
      8,
    )
    expect(compacted).toBeGreaterThan(4)
  }, 60_000)
})
