import { Agent, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { createPlimsoll } from '../../src/index.ts'
import { plainUpstream, testProxy } from './upstream.ts'

const text = Array.from({ length: 20_000 }, (_, i) => `word ${(i * 7_919) % 1_000_003}`).join(' ')
const responseOf = (id: string): string =>
  JSON.stringify({
    id,
    object: 'response',
    status: 'completed',
    model: 'gpt-5.2',
    output: [
      {
        type: 'message',
        id: `msg_${id}`,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 10, output_tokens: 10, total_tokens: 20 },
  })

const CHAT = JSON.stringify({ model: 'gpt-4.1', stream: true, messages: [{ role: 'user', content: 'Hi' }] })
const event = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4.1', choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] })}\n\n`

describe('an answer that is recorded when its client has it', () => {
  it('is known to the request that names it, packed or not', async () => {
    let answers = 0
    const upstream = await plainUpstream((_request, response) => {
      const packed = gzipSync(responseOf(`resp_${++answers}`))
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      // No length beforehand: the client waits for the end.
      response.write(packed.subarray(0, 1_000))
      response.end(packed.subarray(1_000))
    })
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } }, { tools: false })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sessionOf = (body: object): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json', authorization: 'Bearer k', 'accept-encoding': 'gzip' }
        const sent = request(`${proxy.url}/openai/v1/responses`, { method: 'POST', agent, headers }, (response) => {
          response.resume().once('end', () => resolve(response.headers['x-plimsoll-session']))
        })
        sent.once('error', reject).end(JSON.stringify({ model: 'gpt-5.2', ...body }))
      })
    for (let task = 0; task < 5; task++) {
      const first = await sessionOf({ input: `Task number ${task}` })
      const next = await sessionOf({ previous_response_id: `resp_${answers}`, input: 'Go on' })
      expect(next).toBe(first)
    }
    agent.destroy()
  })

  it('is recorded when whoever cancelled it has been told', async () => {
    const events: PlimsollEvent[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      onEvent: (one) => void events.push(one),
      fetch: async () => new Response(event.repeat(3), { headers: { 'content-type': 'text/event-stream' } }),
    })
    for (const tools of [
      undefined,
      [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }],
    ]) {
      events.length = 0
      const body = JSON.stringify({ ...(JSON.parse(CHAT) as object), ...(tools !== undefined && { tools }) })
      const response = await plimsoll.fetch('https://api.openai.com/v1/chat/completions', { method: 'POST', body })
      const reader = response.body!.getReader()
      await reader.read()
      await reader.cancel()
      expect(events.map(({ type }) => type)).toContain('request-forwarded')
    }
    await plimsoll.close()
  })

  it('is recorded before a proxy is closed whose upstream broke it off', async () => {
    let breakOff = (): void => undefined
    const upstream = await plainUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event)
      breakOff = () => response.socket!.resetAndDestroy()
    })
    const { proxy, events } = await testProxy({ upstreams: { openai: upstream.url } }, { tools: false })
    await new Promise<void>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer k' }
      const sent = request(`${proxy.url}/openai/v1/chat/completions`, { method: 'POST', headers }, (response) => {
        response.once('error', () => undefined)
        response.once('data', () => {
          proxy.close().then(resolve, reject)
          breakOff()
        })
      })
      sent.once('error', reject).end(CHAT)
    })
    expect(events.map(({ type }) => type)).toContain('request-forwarded')
  })
})
