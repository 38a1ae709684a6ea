import { describe, expect, it } from 'vitest'
import { createPlimsoll, type Plimsoll } from '../../src/index.ts'
import { words } from './words.ts'

const json = (body: unknown): Response => Response.json(body)
const tokensOf = (text: string): number => Math.round(text.length / 4)

/** A provider that counts a quarter of the characters, and whatever a test adds to that. */
function provider(added: (body: Record<string, unknown>) => number): Plimsoll {
  return createPlimsoll({
    tenants: 'credential',
    store: 'memory:',
    artifacts: 'memory:',
    tools: false,
    fetch: async (asked, init) => {
      const url = asked instanceof Request ? asked.url : asked.toString()
      const text = Buffer.from(init?.body as Uint8Array).toString()
      const body = JSON.parse(text) as Record<string, unknown>
      const input = tokensOf(text) + added(body)
      if (url.includes('generateContent'))
        return json({
          candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
          usageMetadata: { promptTokenCount: input, candidatesTokenCount: 2 },
        })
      if (url.endsWith('/responses'))
        return json({
          id: `resp_${input}`,
          object: 'response',
          status: 'completed',
          output: [{ type: 'message', role: 'assistant', id: 'm', content: [{ type: 'output_text', text: 'ok' }] }],
          usage: { input_tokens: input, output_tokens: 2, input_tokens_details: {} },
        })
      if (url.endsWith('/messages'))
        return json({
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'ok' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: input, output_tokens: 2 },
        })
      return json({
        choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: input, completion_tokens: 2 },
      })
    },
  })
}

const URLS = {
  chat: 'https://api.openai.com/v1/chat/completions',
  responses: 'https://api.openai.com/v1/responses',
  anthropic: 'https://api.anthropic.com/v1/messages',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
}
type Wire = keyof typeof URLS

const bodyOf = (wire: Wire, text: string): Record<string, unknown> =>
  wire === 'gemini'
    ? { contents: [{ role: 'user', parts: [{ text }] }] }
    : wire === 'responses'
      ? { model: 'gpt-5', input: [{ role: 'user', content: text }] }
      : wire === 'anthropic'
        ? { model: 'claude-sonnet-4-5', max_tokens: 1_000, messages: [{ role: 'user', content: text }] }
        : { model: 'gpt-4o', messages: [{ role: 'user', content: text }] }

async function send(
  plimsoll: Plimsoll,
  wire: Wire,
  text: string,
  { key = 'k', session, ...more }: { key?: string; session?: string; [member: string]: unknown } = {},
): Promise<{ status: number; load: number; saved: number }> {
  const answer = await plimsoll.fetch(URLS[wire], {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'x-goog-api-key': key,
      ...(session !== undefined && { 'x-plimsoll-session': session }),
    },
    body: JSON.stringify({ ...bodyOf(wire, text), ...more }),
  })
  await answer.text()
  const number = (name: string): number => Number(answer.headers.get(`x-plimsoll-${name}`) ?? NaN)
  return { status: answer.status, load: number('load'), saved: number('saved') }
}

const HIDDEN: readonly [string, Wire, Record<string, unknown>][] = [
  ['hosted web search on Responses', 'responses', { tools: [{ type: 'web_search' }] }],
  ['file search', 'responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs'] }] }],
  ['a code interpreter', 'responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
  ['a prompt template', 'responses', { prompt: { id: 'pmpt_1' } }],
  ['an earlier response', 'responses', { previous_response_id: 'resp_0' }],
  ['a conversation', 'responses', { conversation: 'conv_1' }],
  ['automatic truncation', 'responses', { truncation: 'auto' }],
  ['web search options', 'chat', { web_search_options: {} }],
  ['web search of Anthropic', 'anthropic', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['Google search', 'gemini', { tools: [{ googleSearch: {} }] }],
  ['cached content', 'gemini', { cachedContent: 'cachedContents/x' }],
]

describe('what a provider counts and a request does not show', () => {
  it.each(HIDDEN)('teaches nothing about the tokenizer: %s', async (_, wire, more) => {
    const plimsoll = provider((body) => (Object.keys(more).some((name) => name in body) ? 15_000 : 0))
    const text = words(7, 30_000)
    const before = await send(
      provider(() => 0),
      wire,
      text,
    )
    for (let k = 0; k < 6; k++) await send(plimsoll, wire, words(k, 900), { ...more, session: `a${k}` })
    const after = await send(plimsoll, wire, text, { session: 'b' })
    expect(after).toEqual(before)
    await plimsoll.close()
  })

  it('teaches nothing by a document that only its id or URL stands for', async () => {
    const plimsoll = provider((body) => (JSON.stringify(body).includes('file_') ? 60_000 : 0))
    const before = await send(
      provider(() => 0),
      'anthropic',
      words(7, 30_000),
    )
    for (let k = 0; k < 6; k++) {
      const content = [
        { type: 'document', source: { type: 'file', file_id: `file_${k}` } },
        { type: 'text', text: words(k, 900) },
      ]
      await send(plimsoll, 'anthropic', '', { messages: [{ role: 'user', content }], session: `a${k}` })
    }
    expect(await send(plimsoll, 'anthropic', words(7, 30_000), { session: 'b' })).toEqual(before)
    await plimsoll.close()
  })

  it('teaches no other tenant, whatever it is', async () => {
    const plimsoll = provider((body) => 2 * tokensOf(JSON.stringify(body)))
    const before = await send(
      provider(() => 0),
      'chat',
      words(7, 30_000),
    )
    for (let k = 0; k < 25; k++) await send(plimsoll, 'chat', words(k, 3_000), { key: 'a', session: `a${k}` })
    expect(await send(plimsoll, 'chat', words(7, 30_000), { key: 'b', session: 'b' })).toEqual(before)
    await plimsoll.close()
  })
})
