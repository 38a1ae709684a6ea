import { describe, expect, it } from 'vitest'
import type { CacheMiss, CacheSeen } from '../../src/core/cache.ts'
import type { EventOf } from '../../src/core/events.ts'
import type { UsageSeen } from '../../src/core/records.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll } from '../../src/index.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'

/** A conversation in no wire's words: what each turn says, and what stands in front. */
interface Talk {
  readonly model: string
  readonly tools: readonly string[]
  readonly turns: readonly string[]
  readonly setting?: string
}

interface Speaker {
  readonly wire: 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini'
  readonly url: (model: string) => string
  readonly models: readonly [string, string]
  readonly body: (talk: Talk) => object
  /** A request in which something steers the answer otherwise, and the place that is told. */
  readonly steered?: { readonly body: (talk: Talk) => object; readonly path: string }
}

const schema = { type: 'object', properties: { path: { type: 'string' } } }
const about = (name: string): string =>
  `Runs ${name}. ${'It reads what it is told to read, and no more than that. '.repeat(8)}`
const isUser = (at: number): boolean => at % 2 === 0

const anthropic = ({ model, tools, turns }: Talk): object => ({
  model,
  max_tokens: 200,
  tools: tools.map((name) => ({ name, description: about(name), input_schema: schema })),
  messages: turns.map((text, at) => {
    const mark = at === turns.length - 1 ? { cache_control: { type: 'ephemeral' } } : {}
    return { role: isUser(at) ? 'user' : 'assistant', content: [{ type: 'text', text, ...mark }] }
  }),
})
const chat = ({ model, tools, turns }: Talk): object => ({
  model,
  max_tokens: 200,
  tools: tools.map((name) => ({ type: 'function', function: { name, description: about(name), parameters: schema } })),
  messages: turns.map((content, at) => ({ role: isUser(at) ? 'user' : 'assistant', content })),
})
const responses = ({ model, tools, turns }: Talk): object => ({
  model,
  max_output_tokens: 200,
  store: false,
  tools: tools.map((name) => ({ type: 'function', name, description: about(name), parameters: schema, strict: false })),
  input: turns.map((text, at) => ({
    type: 'message',
    role: isUser(at) ? 'user' : 'assistant',
    content: [{ type: isUser(at) ? 'input_text' : 'output_text', text }],
  })),
})
const gemini = ({ tools, turns }: Talk): object => ({
  tools: [{ functionDeclarations: tools.map((name) => ({ name, description: about(name), parameters: schema })) }],
  contents: turns.map((text, at) => ({ role: isUser(at) ? 'user' : 'model', parts: [{ text }] })),
})

const SPEAKERS: readonly Speaker[] = [
  {
    wire: 'anthropic-messages',
    url: () => 'http://referee.test/v1/messages',
    models: ['claude-sonnet-4-5', 'claude-haiku-4-5'],
    body: anthropic,
    steered: { body: (talk) => ({ ...anthropic(talk), tool_choice: { type: 'any' } }), path: 'tool_choice' },
  },
  {
    wire: 'openai-chat',
    url: () => 'http://referee.test/v1/chat/completions',
    models: ['gpt-4.1', 'gpt-4.1-mini'],
    body: chat,
  },
  {
    wire: 'openai-responses',
    url: () => 'http://referee.test/v1/responses',
    models: ['gpt-4.1', 'gpt-4.1-mini'],
    body: responses,
  },
  {
    wire: 'gemini',
    url: (model) => `http://referee.test/v1beta/models/${model}:generateContent`,
    models: ['gemini-2.5-flash', 'gemini-2.5-flash-lite'],
    body: gemini,
  },
]

const words = (seed: number, count: number): string =>
  Array.from({ length: count }, (_, at) => `word${(seed * 7919 + at * 104729) % 9973}`).join(' ')
const TURNS = Array.from({ length: 9 }, (_, at) => words(at + 1, at === 0 ? 900 : 300))
/** Seven turns fit, nine do not. */
const WINDOW = 6_000
const SHORT = TURNS.map((text) => text.slice(0, 200))

async function logged(store: Pick<ReturnType<typeof memoryStore>, 'read'>): Promise<UsageSeen[]> {
  const calls: UsageSeen[] = []
  for await (const { record } of store.read('local', 'scene')) if (record.type === 'usage') calls.push(record)
  return calls
}

/** A provider whose cache expires, is cut into blocks, and loses everything when it is told to. */
function scene({ wire, url, models, body }: Speaker, window?: number) {
  let now = Date.UTC(2026, 0, 5)
  const clock = { now: () => now }
  const provider = () =>
    createReferee({
      wire,
      window: 100_000,
      clock,
      script: () => say('Done.'),
      cache: { blockTokens: 128, minimumTokens: 1_024 },
    })
  let referee = provider()
  let sent = 0
  // Two processes, one after the other, share it.
  const store = { ...memoryStore(), close: async () => undefined }
  const told: EventOf<'cache-missed'>[] = []
  const start = () =>
    createPlimsoll({
      store,
      artifacts: 'memory:',
      clock,
      window,
      fetch: (input, init) => referee.fetch(input, init),
      onEvent: (event) => event.type === 'cache-missed' && told.push(event),
    })
  let plimsoll = start()
  const talk: Talk = { model: models[0], tools: ['read_file'], turns: TURNS }
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer k',
    'x-api-key': 'k',
    'x-goog-api-key': 'k',
    'anthropic-version': '2023-06-01',
    'x-plimsoll-session': 'scene',
  }
  return {
    talk,
    plimsoll: { close: () => plimsoll.close() },
    async restart(): Promise<void> {
      await plimsoll.close()
      plimsoll = start()
    },
    /** Sends the first so many turns; gives what the log says was missed. */
    async ask(
      count: number,
      change: Partial<Talk> = {},
      write = body,
    ): Promise<(CacheMiss & Pick<CacheSeen, 'ageSeconds'>) | undefined> {
      const said = { ...talk, ...change }
      const asked = write({ ...said, turns: said.turns.slice(0, count) })
      const answer = await plimsoll.fetch(url(said.model), { method: 'POST', headers, body: JSON.stringify(asked) })
      expect(answer.status, await answer.text()).toBe(200)
      sent++
      await expect.poll(async () => (await logged(store)).length).toBe(sent)
      const { cache } = (await logged(store)).at(-1)!
      // What is told of it is the same, without a word of the conversation.
      const { before: _, after: __, ...why } = cache?.miss ?? {}
      expect(told.splice(0)).toMatchObject(cache?.miss === undefined ? [] : [{ ...why, ageSeconds: cache.ageSeconds }])
      return cache?.miss && { ...cache.miss, ageSeconds: cache.ageSeconds }
    },
    wait: (seconds: number) => void (now += seconds * 1_000),
    evict: () => void (referee = provider()),
  }
}

describe.each(SPEAKERS)('a miss is named on $wire', (speaker) => {
  it('not at all where everything is read', async () => {
    const { ask, wait, plimsoll } = scene(speaker)
    expect(await ask(5)).toBeUndefined()
    wait(20)
    expect(await ask(7)).toBeUndefined()
    wait(200)
    expect(await ask(9)).toBeUndefined()
    await plimsoll.close()
  })

  it('as expiry, with tokens and dollars', async () => {
    const { ask, wait, plimsoll } = scene(speaker)
    await ask(5)
    wait(90_000)
    const miss = await ask(7)
    expect(miss).toMatchObject({ cause: 'expiry', ageSeconds: 90_000 })
    expect(miss!.tokens).toBeGreaterThan(3_000)
    expect(miss!.usd).toBeGreaterThan(0)
    await plimsoll.close()
  })

  it('as the provider’s, where nothing changed and the cache is young', async () => {
    const { ask, wait, evict, plimsoll } = scene(speaker)
    await ask(5)
    wait(10)
    evict()
    expect(await ask(7)).toMatchObject({ cause: 'provider' })
    await plimsoll.close()
  })

  it('as the client’s, with the place of what changed', async () => {
    const { ask, talk, plimsoll } = scene(speaker)
    await ask(5)
    const turns = talk.turns.map((text, at) => (at === 1 ? `${text.slice(0, 100)}CHANGED${text.slice(100)}` : text))
    const miss = await ask(7, { turns })
    expect(miss).toMatchObject({
      cause: 'client',
      path: expect.stringMatching(/^(?:messages|input|contents)\[1\]/) as string,
    })
    expect(miss!.after).toContain('CHANGED')
    expect(miss!.before).not.toContain('CHANGED')
    await plimsoll.close()
  })

  it('as the client’s, where a tool came or the model changed', async () => {
    const { ask, plimsoll } = scene(speaker)
    await ask(5)
    expect(await ask(7, { tools: ['write_file', 'read_file'] })).toMatchObject({ cause: 'client', path: 'tools[0]' })
    const other = speaker.models[1]
    expect(await ask(9, { tools: ['write_file', 'read_file'], model: other })).toMatchObject({
      cause: 'client',
      path: 'model',
      before: speaker.models[0],
      after: other,
    })
    await plimsoll.close()
  })

  it('as the provider’s, where a change near the end does not explain it', async () => {
    const { ask, talk, evict, plimsoll } = scene(speaker)
    await ask(5)
    await ask(7)
    evict()
    const turns = talk.turns.map((text, at) => (at === 6 ? `${text} CHANGED` : text))
    const miss = await ask(9, { turns })
    // With one mark at the end, nothing in front of the change could have been read.
    expect(miss).toMatchObject({ cause: speaker.wire === 'anthropic-messages' ? 'client' : 'provider' })
    await plimsoll.close()
  })

  it('as ours, with the compaction', async () => {
    const { ask, plimsoll } = scene(speaker, WINDOW)
    await ask(7)
    const miss = await ask(9)
    expect(miss).toMatchObject({ cause: 'ours', epoch: expect.stringMatching(/^ep_/) as string })
    await plimsoll.close()
  })

  it('as unknown where another process made the call before, and as expiry where its age tells', async () => {
    const { ask, wait, evict, restart, plimsoll } = scene(speaker)
    await ask(5)
    await restart()
    evict()
    expect(await ask(7)).toMatchObject({ cause: 'unknown' })
    await restart()
    wait(90_000)
    expect(await ask(9)).toMatchObject({ cause: 'expiry' })
    await plimsoll.close()
  })

  it('as too short', async () => {
    const { ask, plimsoll } = scene(speaker)
    const small = { turns: SHORT }
    await ask(3, small)
    expect(await ask(5, small)).toMatchObject({ cause: 'too-short' })
    await plimsoll.close()
  })
})

describe.each(SPEAKERS.filter(({ steered }) => steered !== undefined))('a setting on $wire', (speaker) => {
  it('that empties the cache is named', async () => {
    const { ask, plimsoll } = scene(speaker)
    await ask(5)
    expect(await ask(7, {}, speaker.steered!.body)).toMatchObject({ cause: 'client', path: speaker.steered!.path })
    await plimsoll.close()
  })
})

describe('a miss is named on Anthropic’s wire', () => {
  const [speaker] = SPEAKERS
  /** So many blocks, with marks on some of them. */
  const blocks =
    (count: number, marked: readonly number[], size = 60) =>
    (talk: Talk): object => {
      const parts = Array.from({ length: count }, (_, at) => {
        const mark = marked.includes(at) ? { cache_control: { type: 'ephemeral' } } : {}
        return { type: 'text', text: words(at + 1, at === 0 ? 900 : size), ...mark }
      })
      return { ...anthropic({ ...talk, turns: [] }), messages: [{ role: 'user', content: parts }] }
    }
  const place = (at: number): string => `messages[0].content[${at}]`

  it('as the client’s, where its mark is gone, or too far behind', async () => {
    const plain = { tools: [] }
    const gone = scene(speaker!)
    await gone.ask(5, plain, blocks(2, [1]))
    expect(await gone.ask(5, plain, blocks(3, []))).toMatchObject({ cause: 'client', path: place(1), after: 'none' })
    await gone.plimsoll.close()
    const far = scene(speaker!)
    await far.ask(5, plain, blocks(2, [1]))
    expect(await far.ask(5, plain, blocks(15, [14]))).toBeUndefined()
    expect(await far.ask(5, plain, blocks(60, [59]))).toMatchObject({ cause: 'client', path: place(59) })
    expect(await far.ask(5, plain, blocks(90, [59, 89]))).toBeUndefined()
    await far.plimsoll.close()
  })

  it('as ours, with the tool that a compaction added', async () => {
    const { ask, plimsoll } = scene(speaker!, 16_000)
    await ask(5, {}, blocks(2, [1], 900))
    const miss = await ask(5, {}, blocks(9, [1, 8], 900))
    expect(miss).toMatchObject({ cause: 'ours', path: 'tools[1]', epoch: expect.stringMatching(/^ep_/) as string })
    await plimsoll.close()
  })
})
