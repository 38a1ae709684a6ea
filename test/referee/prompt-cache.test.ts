import { describe, expect, it } from 'vitest'
import { createReferee, say, type RefereeOptions } from '../../src/testing/referee/index.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const HEADERS = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }

/** One token per character, so that every number can be read off the test. */
function referee(options: Partial<RefereeOptions> = {}) {
  let now = 0
  const made = createReferee({
    wire: 'anthropic-messages',
    tokenizer: (text) => text.length,
    window: 1_000_000,
    clock: { now: () => now },
    script: () => say('ok'),
    ...options,
  })
  const send = async (body: object) => {
    const full = { model: 'claude-sonnet-4-6', max_tokens: 10, ...body }
    const path = '/v1/messages'
    const response = await made.handle({
      method: 'POST',
      path,
      headers: HEADERS,
      body: Buffer.from(JSON.stringify(full)),
    })
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body) chunks.push(chunk)
    const exchange = made.log.at(-1)
    if (exchange === undefined) throw new Error('nothing was logged')
    return { ...exchange, response: JSON.parse(Buffer.concat(chunks).toString()) as { usage: Record<string, unknown> } }
  }
  return { send, made, wait: (seconds: number) => (now += seconds * 1000) }
}

const text = (length: number, letter = 'a') => ({ type: 'text', text: letter.repeat(length) })
const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })

describe('prompt cache of the anthropic referee', () => {
  it('writes up to the mark, then reads it and writes only the rest', async () => {
    const { send } = referee()
    const first = await send({ messages: [user({ ...text(2_000), ...MARK })] })
    expect(first).toMatchObject({ cacheRead: 0, cacheWrite: first.inputTokens })
    const second = await send({
      messages: [user(text(2_000)), assistant(text(50, 'b')), user({ ...text(300, 'c'), ...MARK })],
    })
    expect(second).toMatchObject({ cacheRead: first.inputTokens, cacheWrite: second.inputTokens - first.inputTokens })
    expect(second.response.usage).toMatchObject({
      input_tokens: 0,
      cache_read_input_tokens: first.inputTokens,
      cache_creation_input_tokens: second.cacheWrite,
    })
  })

  it('reports what stands behind the last mark as plain input', async () => {
    const { send } = referee()
    const { response } = await send({ system: [{ ...text(3_000), ...MARK }], messages: [user(text(100))] })
    expect(response.usage).toMatchObject({ cache_creation_input_tokens: 3_003, input_tokens: 104 })
  })

  it('caches nothing below the minimum length and nothing without a mark', async () => {
    const { send } = referee()
    expect(await send({ messages: [user({ ...text(900), ...MARK })] })).toMatchObject({ cacheRead: 0, cacheWrite: 0 })
    expect(await send({ messages: [user(text(5_000))] })).toMatchObject({ cacheRead: 0, cacheWrite: 0 })
  })

  it('forgets after five minutes, after an hour with the long ttl, and lives on with each read', async () => {
    const { send, wait } = referee()
    const body = { messages: [user({ ...text(2_000), ...MARK })] }
    await send(body)
    wait(200)
    expect((await send(body)).cacheRead).toBeGreaterThan(0)
    wait(200)
    expect((await send(body)).cacheRead).toBeGreaterThan(0)
    wait(301)
    expect((await send(body)).cacheRead).toBe(0)
    const long = { messages: [user({ ...text(2_000, 'l'), cache_control: { type: 'ephemeral', ttl: '1h' } })] }
    const written = await send(long)
    expect(written).toMatchObject({ cacheWrite: written.inputTokens, cacheWriteLong: written.inputTokens })
    wait(3_000)
    expect((await send(long)).cacheRead).toBeGreaterThan(0)
  })

  it('looks twenty blocks back from a mark and no further', async () => {
    const { send } = referee()
    const blocks = (count: number) => Array.from({ length: count }, (_unused, index) => text(100, 'bcdefg'[index % 6]))
    const head = text(2_000)
    await send({ messages: [user({ ...head, ...MARK })] })
    const near = await send({ messages: [user(head, ...blocks(19), { ...text(100, 'z'), ...MARK })] })
    expect(near.cacheRead).toBeGreaterThan(0)
    const far = await send({ messages: [user(head, ...blocks(20), { ...text(100, 'y'), ...MARK })] })
    expect(far.cacheRead).toBe(0)
  })

  it('sees a change of tools or system as a break at the front', async () => {
    const { send } = referee()
    const messages = [user({ ...text(2_000), ...MARK })]
    await send({ system: 'one', messages })
    const changed = await send({ system: 'two', messages })
    expect(changed).toMatchObject({ cacheRead: 0, prefix: { broke: true, common: 0, at: 'system.0' } })
  })
})

describe('prefix report', () => {
  it('sees no break when the history grows, marks move or a string becomes a block', async () => {
    const { send, made } = referee()
    await send({ system: 'S', messages: [{ role: 'user', content: 'a' }] })
    await send({
      system: [text(1, 'S')],
      messages: [user({ ...text(1), ...MARK }), assistant(text(1, 'b')), user(text(1, 'c'))],
    })
    expect(made.log[1]?.prefix).toMatchObject({ broke: false, common: 2, previousSegments: 2, segments: 4 })
    expect(made.summary().cacheBreaks).toBe(0)
  })

  it('names the place of a break and counts it once', async () => {
    const { send, made } = referee()
    const history = [user(text(5)), assistant(text(5, 'b')), user(text(5, 'c'))]
    await send({ messages: history })
    await send({ messages: [history[0], assistant(text(5, 'x')), history[2]] })
    await send({
      messages: [history[0], assistant(text(5, 'x')), history[2], assistant(text(1, 'y')), user(text(1, 'z'))],
    })
    expect(made.log.map(({ prefix }) => prefix?.broke)).toEqual([undefined, true, false])
    expect(made.log[1]?.prefix).toMatchObject({ common: 1, commonTokens: 12, at: 'messages.1.content.0' })
    expect(made.summary().cacheBreaks).toBe(1)
  })

  it('takes a rewind for no break, and compares only within a lane', async () => {
    const { send, made } = referee({ laneOf: (_request, body) => (JSON.stringify(body).includes('other') ? 'b' : 'a') })
    const history = [user(text(5)), assistant(text(5, 'b')), user(text(5, 'c'))]
    await send({ messages: history })
    await send({ messages: [user({ type: 'text', text: 'other' })] })
    await send({ messages: [history[0]] })
    expect(made.log.map(({ lane, prefix }) => [lane, prefix?.broke])).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['a', false],
    ])
  })

  it('compares with the last answered request, not with a refused one', async () => {
    const { send, made } = referee({ window: 1_000 })
    await send({ messages: [user(text(100))] })
    await send({ messages: [user(text(5_000, 'x'))] })
    await send({ messages: [user(text(100)), assistant(text(1, 'b')), user(text(1, 'c'))] })
    expect(made.log.map(({ overflow, prefix }) => [overflow, prefix?.broke])).toEqual([
      [false, undefined],
      [true, undefined],
      [false, false],
    ])
  })
})

describe('settings and the prompt cache', () => {
  it('keep tools and system cached when only the tool choice changes', async () => {
    const { send } = referee()
    const tools = [{ name: 'bash', input_schema: { type: 'object' } }]
    const body = { tools, system: [{ ...text(2_000, 's'), ...MARK }], messages: [user({ ...text(2_000), ...MARK })] }
    const first = await send(body)
    const same = await send({ ...body, tool_choice: { type: 'auto' } })
    expect(first.cacheRead).toBe(0)
    expect(same.cacheRead).toBeGreaterThan(2_000)
    expect(same.cacheRead).toBeLessThan(first.cacheWrite)
  })
})
