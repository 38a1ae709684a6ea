import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { body, byOwner, family, first, second, siblings, started, type Turn } from './family.ts'
import { closeLater, json, MESSAGE, plainUpstream, post, type TestProxy } from './upstream.ts'

const EVENTS = [
  { type: 'message_start', message: { ...JSON.parse(MESSAGE), content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Slowly' } },
]

/** A client that says what it wants, byte by byte. */
function rawClient({ proxy }: TestProxy, head: readonly string[], sent: string) {
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  const lines = ['POST /anthropic/v1/messages HTTP/1.1', 'Host: localhost', ...head, `Content-Length: ${sent.length}`]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const closed = new Promise<string>((resolve, reject) =>
    socket.once('close', () => resolve(text)).once('error', reject),
  )
  return { socket, said: () => text, closed }
}

/** Its answer, whole. */
function rawPost(at: TestProxy, head: readonly string[], sent: string): Promise<string> {
  const { socket, closed } = rawClient(at, head, sent)
  socket.write(sent)
  return closed
}

/** A client whose request has begun, and whose body has not come. */
async function uploading(at: TestProxy, head: readonly string[], sent: string) {
  const client = rawClient(at, [...head, 'Expect: 100-continue'], sent)
  await expect.poll(client.said).toContain('100 Continue')
  return client
}

describe('a request that is handed over', () => {
  it('waits for a process that is being replaced, and its conversation goes on', async () => {
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

  it('does not call the model once more when its process dies in the middle of it, and its client may ask again', async () => {
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
    // SDKs ask again where this says so, and never where it says no.
    expect(answer.headers.get('x-should-retry')).toBe('true')
    expect(answer.headers.get('x-plimsoll-error')).toBe('upstream')
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('Worker 0') as string } })
  })

  it('says who asks, and passes on nothing that was meant for the connection', async () => {
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

  it('is answered with a stream as it comes, and the upstream is told when its client has left', async () => {
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

  it('is answered where it came in when all of them stop while its body still comes', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2)
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first('Drain.')))).text()
    const [owner, other] = byOwner(all)
    const sent = body(second('Drain.'))
    const { socket, closed } = await uploading(other, ['x-api-key: sk-1', 'Connection: close'], sent)
    const closing = other.proxy.close()
    // Nothing is left for it to do.
    await owner.proxy.close()
    socket.write(sent)
    expect(await closed).toContain('HTTP/1.1 200 OK')
    await closing
    expect(upstream.received).toHaveLength(2)
  })

  it('reaches a process that is stopping, as long as answers of that one are under way', async () => {
    let finish: (() => void) | undefined
    const upstream = await plainUpstream(({ body: sent }, response) => {
      if (!sent.includes('"stream":true')) return json(MESSAGE)({} as never, response, {} as never)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of EVENTS) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      finish = () => response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    })
    const all = await siblings({ anthropic: upstream.url }, 2, { tools: false })
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first('Mine.')))).text()
    const [owner, other] = byOwner(all)
    const long = await post(`${owner.proxy.url}/anthropic/v1/messages`, body(first('Long.'), { stream: true }))
    const closing = owner.proxy.close()
    const answer = await post(`${other.proxy.url}/anthropic/v1/messages`, body(second('Mine.')))
    expect(answer.status).toBe(200)
    await answer.text()
    expect(other.lines).toEqual([])
    finish!()
    expect(await long.text()).toContain('message_stop')
    await closing
  })

  it('has the headers of its answer before there is anything of the body', async () => {
    let finish: (() => void) | undefined
    const upstream = await plainUpstream(({ url }, response) => {
      if (!url.includes('count_tokens')) return json(MESSAGE)({} as never, response, {} as never)
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
      finish = () => response.end('{"input_tokens":7}')
    })
    const all = await siblings({ anthropic: upstream.url }, 2)
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first('Think.')))).text()
    const [, other] = byOwner(all)
    // Nobody looks into an answer of this kind before it is passed on.
    const answer = await post(`${other.proxy.url}/anthropic/v1/messages/count_tokens`, body(second('Think.')))
    expect(answer.status).toBe(200)
    finish!()
    expect(await answer.json()).toEqual({ input_tokens: 7 })
    expect(other.lines).toEqual([])
  })

  it('has one line where its client leaves while its process is away', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2)
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first('Wait.')))).text()
    const [owner, other] = byOwner(all)
    await owner.proxy.close()
    const sent = body(second('Wait.'))
    const { socket } = await uploading(other, ['x-api-key: sk-1'], sent)
    await new Promise<void>((resolve) => socket.write(sent, () => resolve()))
    socket.destroy()
    await expect.poll(() => other.lines.length).toBe(1)
    expect(upstream.received).toHaveLength(1)
  })

  it('is let in, and belongs to the same tenant, by headers that its client calls its connection’s', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2, {}, { token: 'let-me-in' })
    const own = 'Connection: close, x-api-key, x-plimsoll-token, x-secret'
    const head = [own, 'x-api-key: sk-1', 'x-plimsoll-token: let-me-in', 'x-secret: mine']
    for (const at of all) expect(await rawPost(at, head, body(first('Mine.')))).toContain('HTTP/1.1 200 OK')
    const prepared = all.flatMap(({ events }) => events.filter(({ type }) => type === 'request-prepared'))
    expect(prepared).toHaveLength(2)
    expect(new Set(prepared.map(({ tenant }) => tenant)).size).toBe(1)
    expect(prepared[0]!.tenant).not.toBe('local')
    for (const { headers } of upstream.received)
      expect([headers['x-api-key'], headers['x-secret'], headers['x-plimsoll-token']]).toEqual(Array(3).fill(undefined))
  })

  it('may name its host twice', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2)
    const head = ['Host: localhost', 'Connection: close', 'x-api-key: sk-1']
    for (const at of all) expect(await rawPost(at, head, body(first('Hi')))).toContain('HTTP/1.1 200 OK')
  })

  it('may have headers as long as one that is not, and so may its answer', async () => {
    const upstream = await plainUpstream(json(MESSAGE, { 'x-long': 'a'.repeat(16_000) }))
    const all = await siblings({ anthropic: upstream.url }, 2)
    const head = ['Connection: close', 'x-api-key: sk-1', `x-plimsoll-note: ${'q'.repeat(16_200)}`]
    for (const at of all) {
      const answer = await rawPost(at, head, body(first('Hi')))
      expect(answer).toContain('HTTP/1.1 200 OK')
      expect(answer).toContain('a'.repeat(16_000))
    }
  })
})

describe('the sockets of processes of one proxy', () => {
  it('are made again when they were removed, in a folder that only this user gets into', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const home = family({ anthropic: upstream.url }, 2)
    const all = await started(home, 2)
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first('Swept.')))).text()
    const [owner, other] = byOwner(all)
    rmSync(home.sockets, { recursive: true })
    const answer = await post(`${other.proxy.url}/anthropic/v1/messages`, body(second('Swept.')))
    expect(answer.status).toBe(200)
    await expect.poll(() => owner.lines.length).toBe(2)
    expect(statSync(home.sockets).mode & 0o777).toBe(0o700)
  })

  it('are made in a folder that was removed before a process took another’s place', async () => {
    const home = family({ anthropic: 'http://127.0.0.1:9' }, 2)
    rmSync(home.sockets, { recursive: true })
    await home.start(1)
    expect(existsSync(home.addressOf(1))).toBe(true)
    expect(statSync(home.sockets).mode & 0o777).toBe(0o700)
  })

  it('are neither made nor used where somebody else has put something in the folder’s place', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const home = family({ anthropic: upstream.url }, 3)
    const all = [await home.start(0), await home.start(1)]
    await (await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first('Mine.')))).text()
    const theirs = mkdtempSync(join(tmpdir(), 'plimsoll-theirs-'))
    closeLater(() => rmSync(theirs, { recursive: true, force: true }))
    let overheard = 0
    const spy = createServer((_incoming, response) => {
      overheard++
      response.end()
    })
    await new Promise<void>((resolve) => spy.listen(join(theirs, '0.sock'), resolve))
    closeLater(() => void spy.close())
    rmSync(home.sockets, { recursive: true })
    symlinkSync(theirs, home.sockets)
    await expect(home.start(2)).rejects.toMatchObject({ code: 'bad-config' })
    const answer = post(`${all[1]!.proxy.url}/anthropic/v1/messages`, body(second('Mine.')))
    // By then the other one has been tried.
    await (await post(`${all[1]!.proxy.url}/anthropic/v1/messages`, body(first('Another.')))).text()
    rmSync(home.sockets)
    expect((await answer).status).toBe(200)
    expect(overheard).toBe(0)
  })
})
