import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { Siblings } from '../../src/surfaces/gateway/siblings/siblings.ts'
import { say, startReferee } from '../../src/testing/referee/index.ts'
import { closeLater, json, MESSAGE, plainUpstream, post, testProxy, type TestProxy } from './upstream.ts'

/** Processes of one proxy, as far as they know: each with its own memory, on one store. */
function family(upstreams: Record<string, string>, count: number, settings: { readonly tools?: boolean } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-siblings-'))
  closeLater(() => rmSync(folder, { recursive: true, force: true }))
  const addressOf = (number: number): string => join(folder, `${number}.sock`)
  const store = `sqlite:${join(folder, 'store.db')}`
  const start = (self: number): Promise<TestProxy> => {
    const siblings: Siblings = { self, count, addressOf }
    return testProxy({ upstreams, siblings }, { store, siblings, ...settings })
  }
  return { start, addressOf }
}

async function siblings(...given: Parameters<typeof family>): Promise<TestProxy[]> {
  const { start } = family(...given)
  const all: TestProxy[] = []
  for (let self = 0; self < given[1]; self++) all.push(await start(self))
  return all
}

/** Of two, the one that has answered, and the other. */
const byOwner = ([a, b]: readonly TestProxy[]): [owner: TestProxy, other: TestProxy] =>
  a!.events.some(({ type }) => type === 'request-prepared') ? [a!, b!] : [b!, a!]

type Turn = { readonly role: 'user' | 'assistant'; readonly content: string }

const body = (messages: readonly Turn[]): string =>
  JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 64, messages })

const EVENTS = [
  { type: 'message_start', message: { ...JSON.parse(MESSAGE), content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Slowly' } },
]

describe('processes of one proxy', () => {
  it('answer a conversation in the one that met it first, whichever it comes to', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2)
    const turns: Turn[] = [{ role: 'user', content: 'Find out why checkout is slow.' }]
    const sessions = new Set<string | null>()
    for (const at of [0, 1, 1, 0, 1]) {
      const answer = await post(`${all[at]!.proxy.url}/anthropic/v1/messages`, body(turns))
      expect(answer.status).toBe(200)
      expect(await answer.json()).toMatchObject({ content: [{ text: 'Hi' }] })
      sessions.add(answer.headers.get('x-plimsoll-session'))
      turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: `And then? ${turns.length}` })
    }
    expect(sessions.size).toBe(1)
    expect(upstream.received).toHaveLength(5)
    // One line and one record for each, in the process that answered.
    const [owner, other] = byOwner(all)
    await expect.poll(() => owner.lines.length).toBe(5)
    expect(other.lines).toEqual([])
    expect(other.events.filter(({ type }) => type === 'request-prepared')).toEqual([])
  })

  it('never both serve one of many conversations that come to them as it happens', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 3)
    const seed = 20_261_118
    console.info(`seed ${seed}`)
    let state = seed
    const pick = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 16
    const names = await Promise.all(
      Array.from({ length: 24 }, async (_, number) => {
        const turns: Turn[] = [{ role: 'user', content: number % 3 === 0 ? 'The same words.' : `Task ${number}.` }]
        const seen = new Set<string | null>()
        for (let turn = 0; turn < 6; turn++) {
          const answer = await post(`${all[pick() % 3]!.proxy.url}/anthropic/v1/messages`, body(turns))
          expect(answer.status).toBe(200)
          await answer.text()
          seen.add(answer.headers.get('x-plimsoll-session'))
          turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: `${number}: go on ${turn}` })
        }
        // Those who begin alike get the same answer: they are told apart as soon as they differ.
        return number % 3 === 0 ? [...seen].slice(1) : [...seen]
      }),
    )
    expect(names.filter((seen) => seen.length > 1)).toEqual([])
    const served = all.map(
      ({ events }) => new Set(events.flatMap((event) => (event.type === 'request-prepared' ? [event.session] : []))),
    )
    expect(served.reduce((sum, { size }) => sum + size, 0)).toBe(new Set(served.flatMap((set) => [...set])).size)
    expect(upstream.received).toHaveLength(24 * 6)
  })

  it('wait for one that is being replaced, and its conversations go on', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { start } = family({ anthropic: upstream.url }, 2)
    const all = [await start(0), await start(1)]
    const turns: Turn[] = [{ role: 'user', content: 'Who goes on?' }]
    const before = await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(turns))
    await before.text()
    const [owner, other] = byOwner(all)
    await owner.proxy.close()
    await owner.plimsoll.close()
    turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: 'The next one.' })
    const after = post(`${other.proxy.url}/anthropic/v1/messages`, body(turns))
    const replaced = await start(all.indexOf(owner))
    expect((await after).status).toBe(200)
    expect((await after).headers.get('x-plimsoll-session')).toBe(before.headers.get('x-plimsoll-session'))
    await expect.poll(() => replaced.lines.length).toBe(1)
    expect(other.lines).toEqual([])
  })

  it('do not call the model once more for one that dies in the middle of it', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { start, addressOf } = family({ anthropic: upstream.url }, 2)
    const [owner, other] = [await start(0), await start(1)]
    const turns: Turn[] = [{ role: 'user', content: 'How long will you be there?' }]
    await (await post(`${owner.proxy.url}/anthropic/v1/messages`, body(turns))).text()
    await owner.proxy.close()
    let asked = 0
    // It takes what it is handed, and goes.
    const dying = createServer((incoming) => {
      asked++
      incoming.resume().once('end', () => incoming.socket.destroy())
    })
    await new Promise<void>((resolve) => dying.listen(addressOf(0), resolve))
    closeLater(() => void dying.close())
    turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: 'And now?' })
    const answer = await post(`${other.proxy.url}/anthropic/v1/messages`, body(turns))
    // The model may have been called: whether it is called again is for the client to say.
    expect([answer.status, asked, upstream.received.length]).toEqual([502, 1, 1])
  })

  it('pass on who asks, and nothing that was meant for the connection', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2)
    for (const { proxy } of all) {
      const { port } = new URL(proxy.url)
      const answer = await new Promise<string>((resolve, reject) => {
        let text = ''
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('data', (chunk) => (text += String(chunk)))
        socket.once('close', () => resolve(text)).once('error', reject)
        const sent = body([{ role: 'user', content: 'From an old client.' }])
        socket.write(
          `POST /anthropic/v1/messages HTTP/1.0\r\nConnection: close, x-secret\r\nx-secret: mine\r\nx-api-key: sk-1\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`,
        )
      })
      expect(answer).toContain(' 200 OK')
    }
    expect(upstream.received).toHaveLength(2)
    for (const { headers } of upstream.received) {
      expect(headers['x-api-key']).toBe('sk-1')
      expect(headers['x-secret']).toBeUndefined()
    }
  })

  it('pass a stream on as it comes, and tell the upstream when the client has left', async () => {
    let left: (() => void) | undefined
    const isLeft = new Promise<void>((resolve) => (left = resolve))
    const upstream = await plainUpstream(({ body: sent }, response) => {
      if (!sent.includes('"stream":true')) return json(MESSAGE)({} as never, response, {} as never)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of EVENTS) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      response.once('close', () => left!())
    })
    const all = await siblings({ anthropic: upstream.url }, 2, { tools: false })
    const turns: Turn[] = [{ role: 'user', content: 'Say it slowly.' }]
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(turns))).text()
    turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: 'Slower.' })
    const streamed = body(turns).replace('{', '{"stream":true,')
    const [, other] = byOwner(all)
    const piece = await new Promise<string>((resolve, reject) => {
      const sent = httpRequest(
        `${other.proxy.url}/anthropic/v1/messages`,
        { method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': 'sk-1' } },
        (response) => {
          response.once('data', (chunk: Buffer) => {
            resolve(String(chunk))
            sent.destroy()
          })
          response.on('error', () => undefined)
        },
      )
      sent.once('error', reject)
      sent.end(streamed)
    })
    // The upstream never ends it: what is here came before the end.
    expect(piece).toContain('message_start')
    await isLeft
    expect(other.lines).toEqual([])
  })

  it('know whose a stored response is that another one answered', async () => {
    const referee = await startReferee({ wire: 'openai-responses', window: 100_000, script: () => say('Done.') })
    closeLater(() => referee.close())
    const all = await siblings({ openai: referee.url }, 2)
    const clients = all.map(
      ({ proxy }) => new OpenAI({ apiKey: 'k', baseURL: `${proxy.url}/openai/v1`, maxRetries: 0 }),
    )
    let previous: string | undefined
    const sessions = new Set<string | null>()
    for (const at of [0, 1, 0, 1, 1]) {
      const { data, response } = await clients[at]!.responses.create({
        model: 'gpt-4o',
        input: 'Go on.',
        ...(previous !== undefined && { previous_response_id: previous }),
      }).withResponse()
      previous = data.id
      sessions.add(response.headers.get('x-plimsoll-session'))
    }
    expect(sessions.size).toBe(1)
    const [owner, other] = byOwner(all)
    await expect.poll(() => owner.lines.length).toBe(5)
    expect(other.lines).toEqual([])
  })
})
