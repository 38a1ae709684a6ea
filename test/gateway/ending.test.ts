import { request } from 'node:http'
import { connect } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PlimsollError } from '../../src/core/errors.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { createPlimsoll } from '../../src/index.ts'
import { startProxy } from '../../src/gateway/proxy.ts'
import { closeLater, json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

const SIZE = 12 * 1024 * 1024

/** Reads an answer a little at a time, until it ends or breaks off. */
const readSlowly = (url: string): Promise<{ readonly bytes: number; readonly isComplete: boolean }> =>
  new Promise((resolve) => {
    const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      let bytes = 0
      const end = (): void => resolve({ bytes, isComplete: response.complete })
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        response.pause()
        setImmediate(() => response.resume())
      })
      response.once('end', end).once('error', end)
    })
    sent.end(ODD_BODY)
  })

describe('ending', () => {
  it('lets slow readers have the whole of an answer, kept whole or streamed', async () => {
    const large = JSON.stringify({ ...JSON.parse(MESSAGE), padding: 'A'.repeat(SIZE) })
    const upstream = await plainUpstream(json(large))
    for (const tools of [true, false]) {
      const { proxy, lines } = await testProxy({ upstreams: { anthropic: upstream.url }, drainMs: 60_000 }, { tools })
      const reading = readSlowly(`${proxy.url}/anthropic/v1/messages`)
      await expect.poll(() => upstream.received.length).toBe(tools ? 1 : 2)
      await proxy.close()
      expect(await reading).toEqual({ bytes: large.length, isComplete: true })
      expect(lines.at(-1)!.status).toBe(200)
    }
  })

  it('does not wait for an event listener that does not read, nor keep what it does not take', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, hub } = await testProxy({ upstreams: { anthropic: upstream.url }, drainMs: 60_000 })
    const { port } = new URL(proxy.url)
    const socket = connect(Number(port), '127.0.0.1')
    closeLater(() => void socket.destroy())
    await new Promise<void>((resolve) => socket.once('connect', resolve))
    socket.pause().write('GET /plimsoll/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
    const event = {
      type: 'warning',
      topic: 'x',
      message: 'y'.repeat(50_000),
      at: 0,
      tenant: 't',
      session: 's',
    } as const
    // More than the sockets between us hold.
    await expect
      .poll(() => {
        for (let i = 0; i < 200; i++) hub.take(event)
        return socket.destroyed || socket.readableLength > 0
      })
      .toBe(true)
    const before = performance.now()
    await proxy.close()
    expect(performance.now() - before).toBeLessThan(20_000)
  })

  it('says so when it had to cut somebody off', async () => {
    const upstream = await plainUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ping\ndata: {"type":"ping"}\n\n')
    })
    const plimsoll = createPlimsoll({ store: 'memory:' })
    const proxy = await startProxy(plimsoll.gateway, { port: 0, drainMs: 50, upstreams: { anthropic: upstream.url } })
    const broken = post(`${proxy.url}/anthropic/v1/other`, ODD_BODY).then((response) => response.text())
    broken.catch(() => undefined)
    await expect.poll(() => upstream.received.length).toBe(1)
    await expect(proxy.close()).rejects.toMatchObject({ code: 'timeout', fields: { cut: 1 } })
    await expect(broken).rejects.toThrow()
    await plimsoll.close()
  })
})

/** A store whose disk fills up and is cleared again. */
function fillingStore() {
  const disk = { isFull: false }
  const full = (): never => {
    throw new PlimsollError('store-unavailable', 'There is no room left on the disk.')
  }
  const store = new Proxy(memoryStore(), {
    get(target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver)
      if (typeof value !== 'function' || !['append', 'claimEpoch', 'setValue'].includes(String(key))) return value
      return async (...args: unknown[]) => (disk.isFull ? full() : (value as (...args: unknown[]) => unknown)(...args))
    },
  })
  return { disk, store }
}

const exchange = async (plimsoll: ReturnType<typeof createPlimsoll>): Promise<void> => {
  const session = plimsoll.session({ id: 's' })
  const { id } = await session.prepare({ format: 'anthropic-messages', body: ODD_BODY })
  await session.record({ turn: id, response: JSON.parse(MESSAGE) as object })
}

describe('closing with a full disk', () => {
  it('rejects when what was acknowledged could not be written', async () => {
    const { disk, store } = fillingStore()
    const plimsoll = createPlimsoll({ store, secret: Buffer.from('long enough a secret') })
    disk.isFull = true
    await exchange(plimsoll)
    await expect(plimsoll.close()).rejects.toMatchObject({ code: 'store-unavailable', fields: { sessions: 1 } })
  })

  it('writes it when there is room again', async () => {
    const { disk, store } = fillingStore()
    const plimsoll = createPlimsoll({ store, secret: Buffer.from('long enough a secret') })
    disk.isFull = true
    await exchange(plimsoll)
    disk.isFull = false
    const types: string[] = []
    store.close = async () => {
      for await (const { record } of store.read('local', 's')) types.push(record.type)
    }
    await plimsoll.close()
    expect(types).toContain('usage')
  })
})

describe('a store that cannot be used', () => {
  const seal = (letter: string) => aesSeal(Buffer.from(letter.repeat(32)))
  const garbage = join(mkdtempSync(join(tmpdir(), 'plimsoll-garbage-')), 'p.db')
  const TROUBLES: Readonly<Record<string, () => Promise<ReturnType<typeof sqliteStore>>>> = {
    'has another key': async () => {
      const path = join(mkdtempSync(join(tmpdir(), 'plimsoll-key-')), 'p.db')
      const first = sqliteStore({ path, seal: seal('a') })
      await first.version('t', 's')
      await first.close()
      return sqliteStore({ path, seal: seal('b') })
    },
    'is no database': async () => {
      writeFileSync(garbage, 'This is not a database.'.repeat(400))
      return sqliteStore({ path: garbage })
    },
    'holds records of a newer package': async () => {
      const path = join(mkdtempSync(join(tmpdir(), 'plimsoll-newer-')), 'p.db')
      const store = sqliteStore({ path })
      const newer = { v: 999, at: 0, type: 'pin', identity: 'x', pinned: true } as never
      await store.append('local', 'named', [newer])
      return store
    },
  }

  it.each(Object.keys(TROUBLES))('that %s lets every request pass as it came', async (name) => {
    const upstream = await plainUpstream(json(MESSAGE))
    const store = await TROUBLES[name]!()
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } }, { store, tenants: 'one' })
    for (let i = 0; i < 3; i++) {
      const answer = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, { 'x-plimsoll-session': 'named' })
      expect([answer.status, await answer.text()]).toEqual([200, MESSAGE])
      expect(upstream.received.at(-1)!.body.toString()).toBe(ODD_BODY)
      if (name !== 'is no database') expect(answer.headers.get('x-plimsoll-verdict')).toBe('bypassed')
    }
    expect(events.some(({ type }) => type === 'degraded')).toBe(true)
    // What went on from memory is written where there is a database again.
    rmSync(garbage, { force: true })
  })
})
