import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { plainUpstream, testProxy } from './upstream.ts'

const event = (data: Record<string, unknown>): string =>
  `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`

/** An answer that says something and then asks for a tool of ours. */
const READING = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Let me look. ' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'recall', input: {} },
  },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"query":"x"}' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]
  .map(event)
  .join('')

const BODY = JSON.stringify({
  model: 'claude-opus-4-6',
  max_tokens: 100,
  stream: true,
  tools: [{ name: 'bash', input_schema: { type: 'object' } }],
  // Long enough for our tool to be declared from the start.
  messages: [{ role: 'user', content: `Go. ${'The log says that it failed. '.repeat(2_000)}` }],
})
const HEADERS = { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }

describe('a client that hangs up during a hidden step', () => {
  it('cancels it behind the in-process fetch, although nobody aborted a signal', async () => {
    let asked = 0
    let isStopped: () => void
    const stopped = new Promise<void>((resolve) => (isStopped = resolve))
    let isAsked: () => void
    const second = new Promise<void>((resolve) => (isAsked = resolve))
    const plimsoll = createPlimsoll({
      store: 'memory:',
      fetch: (_input, init) => {
        if (++asked === 1)
          return Promise.resolve(new Response(READING, { headers: { 'content-type': 'text/event-stream' } }))
        isAsked()
        return new Promise((_resolve, reject) => {
          init!.signal!.addEventListener('abort', () => {
            isStopped()
            reject(new Error('aborted'))
          })
        })
      },
    })
    const answer = await plimsoll.fetch('https://api.anthropic.com/v1/messages', {
      method: 'POST',
      headers: HEADERS,
      body: BODY,
    })
    const reader = answer.body!.getReader()
    await reader.read()
    const rest = reader.read().catch(() => undefined)
    await second
    await reader.cancel()
    await stopped
    await rest
    expect(asked).toBe(2)
    await plimsoll.close()
  })

  it('cancels it behind the proxy', async () => {
    let asked = 0
    let isStopped: () => void
    const stopped = new Promise<void>((resolve) => (isStopped = resolve))
    let isAsked: () => void
    const second = new Promise<void>((resolve) => (isAsked = resolve))
    const upstream = await plainUpstream((_request, response, incoming) => {
      if (++asked === 1) return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(READING)
      incoming.socket.once('close', () => isStopped())
      isAsked()
    })
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const client = new AbortController()
    const answer = await fetch(`${proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      headers: HEADERS,
      body: BODY,
      signal: client.signal,
    })
    const rest = answer.text().catch(() => undefined)
    await second
    client.abort()
    await stopped
    await rest
    expect(asked).toBe(2)
  })
})
