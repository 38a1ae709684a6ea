import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { say, startReferee } from '../../src/testing/referee/index.ts'
import { body, byOwner, family, first, second, siblings, started, type Turn } from './family.ts'
import { closeLater, json, MESSAGE, plainUpstream, post, type TestProxy } from './upstream.ts'

const preparedIn = ({ events }: TestProxy): number => events.filter(({ type }) => type === 'request-prepared').length

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

  it('serve a session in one of them when its client sends back the name that it was given', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const all = await siblings({ anthropic: upstream.url }, 2)
    // The second and third begin like the first, and have names with an ending.
    for (let number = 0; number < 3; number++) {
      const task = `Task ${number >> 1}.`
      const unnamed = await post(`${all[0]!.proxy.url}/anthropic/v1/messages`, body(first(task)))
      await unnamed.text()
      const name = unnamed.headers.get('x-plimsoll-session')!
      const named = { 'x-plimsoll-session': name }
      const answer = await post(`${all[1]!.proxy.url}/anthropic/v1/messages`, body(second(task)), named)
      await answer.text()
      expect(answer.headers.get('x-plimsoll-session')).toBe(name)
    }
    expect(all.map(preparedIn)).toEqual([6, 0])
  })

  it('write no name of a session to find its process again', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const home = family({ anthropic: upstream.url }, 2)
    const all = await started(home, 2)
    const name = 'patient-jane-doe'
    for (const { proxy } of all)
      await (await post(`${proxy.url}/anthropic/v1/messages`, body(first('Hi')), { 'x-plimsoll-session': name })).text()
    const [owner] = byOwner(all)
    await expect.poll(() => owner.lines.length).toBe(2)
    const { tenant } = owner.events.find(({ type }) => type === 'request-prepared')!
    for (const { proxy, plimsoll } of all) {
      await proxy.close()
      await plimsoll.close()
    }
    const store = sqliteStore({ path: home.file })
    expect(await store.remove(tenant, name)).toBe(true)
    await store.close()
    const files = readdirSync(dirname(home.file)).filter((file) => file.startsWith('store.db'))
    expect(files).toContain('store.db')
    for (const file of files) expect(readFileSync(join(dirname(home.file), file)).includes(name)).toBe(false)
  })

  it('leave no trace of a count, and have it answered by the owner where there is one', async () => {
    const upstream = await plainUpstream(json('{"input_tokens":7}'))
    const written: string[] = []
    const store = memoryStore()
    const watched: typeof store = {
      ...store,
      setValue(...given) {
        written.push(given[1])
        return store.setValue(...given)
      },
    }
    const all = await siblings({ anthropic: upstream.url }, 2, { store: watched })
    const asked = async (at: number, path: string, name: string): Promise<void> => {
      const headers: Record<string, string> = name === '' ? {} : { 'x-plimsoll-session': name }
      const answer = await post(`${all[at]!.proxy.url}/anthropic/v1/messages${path}`, body(first('How much?')), headers)
      expect(answer.status).toBe(200)
      await answer.text()
    }
    for (const name of ['', 'named']) for (const at of [0, 1]) await asked(at, '/count_tokens', name)
    expect(written.filter((key) => key.startsWith('owner'))).toEqual([])
    expect(all.map(({ lines }) => lines.length)).toEqual([2, 2])
    await asked(0, '', '')
    await asked(1, '/count_tokens', '')
    expect(all.map(({ lines }) => lines.length)).toEqual([4, 2])
    expect(written.filter((key) => key.startsWith('owner'))).toHaveLength(1)
  })

  it('need a bounded number of values to find the processes of any number of sessions', async () => {
    const store = memoryStore()
    const keys = new Set<string>()
    const watched: typeof store = {
      ...store,
      setValue(...given) {
        if (given[1].startsWith('owner')) keys.add(given[1])
        return store.setValue(...given)
      },
    }
    const upstream = await plainUpstream(json(MESSAGE))
    const [one] = await siblings({ anthropic: upstream.url }, 1, { store: watched })
    for (let number = 0; number < 20; number++) {
      const named = { 'x-plimsoll-session': `session ${number}` }
      await (await post(`${one!.proxy.url}/anthropic/v1/messages`, body(first('Hi')), named)).text()
    }
    expect(keys.size).toBeGreaterThan(15)
    for (const key of keys) expect(Number(/^owner:(\d+)$/.exec(key)?.[1])).toBeLessThan(4_096)
  })
})
