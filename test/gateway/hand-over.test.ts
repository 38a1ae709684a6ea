import { createServer, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { body, byOwner, family, siblings, type Turn } from './family.ts'
import { closeLater, json, MESSAGE, plainUpstream, post } from './upstream.ts'

const EVENTS = [
  { type: 'message_start', message: { ...JSON.parse(MESSAGE), content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Slowly' } },
]

describe('a request that is handed over', () => {
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
})
