import type { SdkWire as Wire } from '../support/sdk-wires.ts'
import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { AnswerBody, refusalInside } from '../../src/gateway/read-answer.ts'
import { wireOf } from '../../src/formats/registry.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS, type Stage } from '../sdks/ways.ts'
import { plainUpstream, post, testProxy } from './upstream.ts'

const STEPS = 36

/** A long history with the vendor's own SDK, streamed or not; gives back what it understood. */
const ASK: Readonly<Record<Wire, (on: Stage, stream: boolean) => Promise<string>>> = {
  async 'anthropic-messages'({ base, fetch }, stream) {
    const client = new Anthropic({ apiKey: 'k', baseURL: base, maxRetries: 0, ...(fetch && { fetch }) })
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go' }]
    for (let i = 0; i < STEPS; i++) {
      messages.push(
        { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${i}`, name: 'log', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${i}`, content: toolOutput(i) }] },
      )
    }
    const request: Anthropic.MessageCreateParamsNonStreaming = {
      model: 'claude-opus-4-6',
      max_tokens: 50,
      messages,
      tools: [{ name: 'log', input_schema: { type: 'object' } }],
    }
    const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
    return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  },
  async 'openai-chat'({ base, fetch }, stream) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go' }]
    for (let i = 0; i < STEPS; i++) {
      const call = { id: `call_${i}`, type: 'function' as const, function: { name: 'log', arguments: '{}' } }
      messages.push(
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: toolOutput(i) },
      )
    }
    const request = {
      model: 'gpt-4.1',
      messages,
      tools: [{ type: 'function' as const, function: { name: 'log', parameters: { type: 'object' } } }],
    }
    const answer = stream
      ? await client.chat.completions.stream(request).finalChatCompletion()
      : await client.chat.completions.create(request)
    return answer.choices[0]!.message.content ?? ''
  },
  async 'openai-responses'({ base, fetch }, stream) {
    const client = new OpenAI({ apiKey: 'k', baseURL: `${base}/v1`, maxRetries: 0, ...(fetch && { fetch }) })
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Go' }]
    for (let i = 0; i < STEPS; i++) {
      input.push(
        { type: 'function_call', call_id: `call_${i}`, name: 'log', arguments: '{}' },
        { type: 'function_call_output', call_id: `call_${i}`, output: toolOutput(i) },
      )
    }
    const request = {
      model: 'gpt-5.2',
      input,
      tools: [{ type: 'function' as const, name: 'log', parameters: { type: 'object' }, strict: false }],
    }
    const answer = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request)
    return answer.output_text
  },
  async gemini({ base, fetch }, stream) {
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base, ...(fetch && { fetch }) } })
    const contents: object[] = [{ role: 'user', parts: [{ text: 'Go' }] }]
    for (let i = 0; i < STEPS; i++) {
      contents.push(
        { role: 'model', parts: [{ functionCall: { id: `f${i}`, name: 'log', args: {} } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { id: `f${i}`, name: 'log', response: { output: toolOutput(i) } } }],
        },
      )
    }
    const request = {
      model: 'gemini-2.5-pro',
      contents,
      config: { tools: [{ functionDeclarations: [{ name: 'log' }] }] },
    }
    if (!stream) return (await client.models.generateContent(request)).text ?? ''
    let text = ''
    for await (const chunk of await client.models.generateContentStream(request)) text += chunk.text ?? ''
    return text
  },
}

describe.each(Object.keys(ASK) as Wire[])('an overflow inside a 200, on %s', (wire) => {
  it.each(
    WAYS.flatMap((way) =>
      [true, false].flatMap((stream) => [true, false].map((tools) => [way, stream, tools] as const)),
    ),
  )('is learned from and never seen, through the %s (streamed: %s, tools of ours: %s)', async (way, stream, tools) => {
    const on = await stage(way, {
      referee: { wire, window: 6_000, overflow: 'in-answer', script: [say('All is well.')], chunkBytes: 40 },
      plimsoll: { window: 1_000_000, tools },
    })
    expect(await ASK[wire](on, stream)).toBe('All is well.')
    expect(on.referee.summary()).toMatchObject({ answered: 1, overflows: 1, invalid: 0 })
    expect(on.events.filter((event) => event.type === 'overflow-recovered')).toHaveLength(1)
    // The next request of this endpoint does not run into it again.
    await ASK[wire](on, stream)
    expect(on.referee.summary()).toMatchObject({ answered: 2, overflows: 1 })
  })
})

const chatEvent = (body: object): string => `data: ${JSON.stringify(body)}\n\n`
const ROLE = chatEvent({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
const WORD = chatEvent({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })
const OVERFLOW = chatEvent({
  error: { code: 400, type: 'exceed_context_size_error', message: 'too long', n_ctx: 4_096 },
})
const BODY = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
const SSE = { 'content-type': 'text/event-stream' }

describe('what is not held back', () => {
  it('hands an error on that comes after the first word, byte for byte', async () => {
    const upstream = await plainUpstream(
      (_request, response) => void response.writeHead(200, SSE).end(ROLE + WORD + OVERFLOW),
    )
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
    const response = await post(`${proxy.url}/openai/v1/chat/completions`, BODY)
    expect(await response.text()).toBe(ROLE + WORD + OVERFLOW)
    expect(upstream.received).toHaveLength(1)
  })

  it('hands an overflow on that no reduction helps, in the words it came in', async () => {
    const words = ROLE + OVERFLOW.replace('4096', '12')
    const upstream = await plainUpstream((_request, response) => void response.writeHead(200, SSE).end(words))
    const { proxy, events } = await testProxy({ upstreams: { openai: upstream.url } })
    const response = await post(`${proxy.url}/openai/v1/chat/completions`, BODY)
    expect([response.status, await response.text()]).toEqual([200, words])
    expect(events.filter((event) => event.type === 'overflow-recovered')).toEqual([])
  })

  it('lets the first word through while the rest is still to come', async () => {
    let goOn = (): void => undefined
    const upstream = await plainUpstream(async (_request, response) => {
      response.writeHead(200, SSE).write(ROLE + WORD)
      await new Promise<void>((resolve) => void (goOn = resolve))
      response.end('data: [DONE]\n\n')
    })
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
    const response = await post(`${proxy.url}/openai/v1/chat/completions`, BODY)
    const reader = response.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toContain('Hi')
    goOn()
    while (!(await reader.read()).done);
  })

  it('changes nothing when it only observes', async () => {
    const upstream = await plainUpstream((_request, response) => void response.writeHead(200, SSE).end(ROLE + OVERFLOW))
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } }, { observe: true })
    const response = await post(`${proxy.url}/openai/v1/chat/completions`, BODY)
    expect(await response.text()).toBe(ROLE + OVERFLOW)
    expect(upstream.received).toHaveLength(1)
  })

  it('keeps content that only speaks of errors', async () => {
    const whole = JSON.stringify({
      id: 'x',
      error: null,
      choices: [{ index: 0, message: { role: 'assistant', content: '{"error":{"message":"prompt is too long"}}' } }],
      details: { error: { message: 'prompt is too long: 9 tokens > 8 maximum' } },
    })
    const upstream = await plainUpstream(
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(whole),
    )
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
    const response = await post(`${proxy.url}/openai/v1/chat/completions`, BODY)
    expect(await response.text()).toBe(whole)
    expect(upstream.received).toHaveLength(1)
  })
})

describe('a packed stream', () => {
  it('is looked into', async () => {
    const referee = createReferee({ wire: 'openai-chat', window: 6_000, overflow: 'in-answer', script: [say('Fine.')] })
    const upstream = await plainUpstream(async (received, response) => {
      const answer = await referee.handle({
        method: received.method,
        path: received.url,
        headers: { ...(received.headers as Record<string, string>), authorization: 'Bearer k' },
        body: received.body,
      })
      const chunks: Uint8Array[] = []
      for await (const chunk of answer.body) chunks.push(chunk)
      response.writeHead(answer.status, { ...answer.headers, 'content-encoding': 'gzip' })
      response.end(gzipSync(Buffer.concat(chunks)))
    })
    const { proxy, events } = await testProxy(
      { upstreams: { openai: upstream.url } },
      { window: 1_000_000, tools: false },
    )
    const messages: object[] = [{ role: 'user', content: 'Go' }]
    for (let i = 0; i < STEPS; i++) {
      messages.push(
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `call_${i}`, type: 'function', function: { name: 'log', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: `call_${i}`, content: toolOutput(i) },
      )
    }
    const response = await post(
      `${proxy.url}/openai/v1/chat/completions`,
      JSON.stringify({ model: 'gpt-4.1', stream: true, messages }),
      { 'accept-encoding': 'gzip' },
    )
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(await response.text()).toContain('Fine.')
    expect(events.filter((event) => event.type === 'overflow-recovered')).toHaveLength(1)
  })
})

describe('an answer that makes its client wait', () => {
  it('is handed on when nothing comes in time, and loses nothing by it', async () => {
    const stream = new PassThrough()
    const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
    const body = new AnswerBody(
      () => pieces.next(),
      () => void stream.destroy(),
    )
    const header = (name: string): string | undefined => (name === 'content-type' ? 'text/event-stream' : undefined)
    stream.write(ROLE)
    let looks = 0
    const peek = (waitMs?: number): ReturnType<typeof body.peek> => body.peek(looks++ === 0 ? waitMs : 0)
    expect(await refusalInside(wireOf('openai-chat'), { header, body: { peek } })).toBeUndefined()
    expect(looks).toBe(2)
    stream.end(OVERFLOW)
    const all: Uint8Array[] = []
    for await (const chunk of body) all.push(chunk)
    expect(Buffer.concat(all).toString()).toBe(ROLE + OVERFLOW)
  })
})
