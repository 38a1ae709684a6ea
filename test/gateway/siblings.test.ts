import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { registry, askingOwners, type AskingOwners } from '../../src/surfaces/gateway/siblings/registry.ts'
import type { Siblings } from '../../src/surfaces/gateway/siblings/siblings.ts'
import { say, startReferee } from '../../src/testing/referee/index.ts'
import { closeLater, json, MESSAGE, plainUpstream, post, testProxy, type TestProxy } from './upstream.ts'

/** Processes of one proxy, as far as they know: each with its own memory, one store, and a parent that rules. */
async function siblings(
  count: number,
  upstreams: Record<string, string>,
  settings: { readonly tools?: boolean } = {},
): Promise<TestProxy[]> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-siblings-'))
  closeLater(() => rmSync(folder, { recursive: true, force: true }))
  const rule = registry()
  const store = `sqlite:${join(folder, 'store.db')}`
  const all: TestProxy[] = []
  for (let self = 0; self < count; self++) {
    const owners: AskingOwners = askingOwners(self, ({ plimsollAsk: plimsollRuling, conversations }) => {
      const owner = rule(self, conversations)
      // As over a pipe: not at once.
      setImmediate(() => owners.hear({ plimsollRuling, owner }))
      return true
    })
    const own: Siblings = { self, ownerOf: owners.ownerOf, addressOf: (number) => join(folder, `${number}.sock`) }
    all.push(await testProxy({ upstreams, siblings: own }, { store, owners: own, ...settings }))
  }
  return all
}

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
    const all = await siblings(2, { anthropic: upstream.url })
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
    await expect.poll(() => all[0]!.lines.length).toBe(5)
    expect(all[1]!.lines).toEqual([])
    expect(all[1]!.events.filter(({ type }) => type === 'request-prepared')).toEqual([])
  })

  it('never both serve one of many conversations that come to them as it happens', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings(3, { anthropic: upstream.url })
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

  it('serve on for one that is not there', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const [first, second] = await siblings(2, { anthropic: upstream.url })
    const turns: Turn[] = [{ role: 'user', content: 'Who goes on?' }]
    const before = await post(`${first!.proxy.url}/anthropic/v1/messages`, body(turns))
    await before.text()
    await first!.proxy.close()
    await first!.plimsoll.close()
    turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: 'The other one.' })
    const after = await post(`${second!.proxy.url}/anthropic/v1/messages`, body(turns))
    expect(after.status).toBe(200)
    expect(after.headers.get('x-plimsoll-session')).toBe(before.headers.get('x-plimsoll-session'))
    expect(upstream.received).toHaveLength(2)
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
    const all = await siblings(2, { anthropic: upstream.url }, { tools: false })
    const turns: Turn[] = [{ role: 'user', content: 'Say it slowly.' }]
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(turns))).text()
    turns.push({ role: 'assistant', content: 'Hi' }, { role: 'user', content: 'Slower.' })
    const streamed = body(turns).replace('{', '{"stream":true,')
    const piece = await new Promise<string>((resolve, reject) => {
      const sent = httpRequest(
        `${all[1]!.proxy.url}/anthropic/v1/messages`,
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
    expect(all[1]!.lines).toEqual([])
  })

  it('know whose a stored response is that another one answered', async () => {
    const referee = await startReferee({ wire: 'openai-responses', window: 100_000, script: () => say('Done.') })
    closeLater(() => referee.close())
    const all = await siblings(2, { openai: referee.url })
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
  })
})
