import OpenAI, { APIError } from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { describe, expect, it } from 'vitest'
import { call, calls, say, type Script } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage } from './ways.ts'

const MODEL = 'gpt-4.1'
const tools: ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'read_log', parameters: { type: 'object', properties: { step: { type: 'integer' } } } },
  },
]

const clientOf = ({ base, fetch }: Stage): OpenAI =>
  new OpenAI({ apiKey: 'sk-test', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch !== undefined && { fetch }) })

async function loop(client: OpenAI): Promise<string> {
  const messages: ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You are an engineer.' },
    { role: 'user', content: 'Find out why checkout is slow.' },
  ]
  for (let step = 1; ; step++) {
    const stream = client.chat.completions.stream({
      model: MODEL,
      max_completion_tokens: 512,
      tools,
      messages,
      stream_options: { include_usage: true },
    })
    const { message } = (await stream.finalChatCompletion()).choices[0]!
    messages.push(message)
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return message.content ?? ''
    for (const [i, { id }] of message.tool_calls.entries()) {
      messages.push({ role: 'tool', tool_call_id: id, content: toolOutput(step * 3 + i) })
    }
  }
}

const longScript =
  (turns: number): Script =>
  ({ number }) => {
    if (number >= turns) return say('Done.')
    const one = { name: 'read_log', input: { step: number } }
    return number % 5 === 0 ? calls([one, one, one], 'Three at once.') : call('read_log', { step: number })
  }

describe.each(WAYS)('openai chat completions through the %s', (way) => {
  it('runs a hundred turns in an 8k window without one refused request', async () => {
    const on = await stage(way, {
      referee: { wire: 'openai-chat', window: 8_000, script: longScript(100) },
      plimsoll: { window: 8_000 },
    })
    expect(await loop(clientOf(on))).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 100, overflows: 0, invalid: 0, faults: 0 })
  })

  it('recovers an overflow, streamed', async () => {
    const on = await stage(way, {
      referee: { wire: 'openai-chat', window: 6_000, script: longScript(30) },
      plimsoll: { window: 1_000_000 },
    })
    expect(await loop(clientOf(on))).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 30, overflows: 1, invalid: 0 })
  })

  it('passes structured output and errors on', async () => {
    const on = await stage(way, {
      referee: {
        wire: 'openai-chat',
        script: [say('{"city":"Kiel"}')],
        faults: [{ on: 2, fault: { kind: 'server-error' } }],
      },
    })
    const ask = () =>
      clientOf(on).chat.completions.create({
        model: MODEL,
        messages: [{ role: 'user', content: 'Which city?' }],
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'city',
            strict: true,
            schema: {
              type: 'object',
              properties: { city: { type: 'string' } },
              required: ['city'],
              additionalProperties: false,
            },
          },
        },
      })
    expect(JSON.parse((await ask()).choices[0]!.message.content!)).toEqual({ city: 'Kiel' })
    expect(Buffer.from(on.referee.log[0]!.raw).toString()).toContain('"additionalProperties":false')
    await expect(ask()).rejects.toBeInstanceOf(APIError)
  })

  it('passes everything else through: the model list, and what no route knows', async () => {
    const on = await stage(way, { referee: { wire: 'openai-chat', models: ['gpt-4.1', 'gpt-5.2'] } })
    const client = clientOf(on)
    expect((await client.models.list()).data.map((model) => model.id)).toEqual(['gpt-4.1', 'gpt-5.2'])
    await expect(client.embeddings.create({ model: 'e', input: 'x' })).rejects.toMatchObject({ status: 404 })
  })
})
