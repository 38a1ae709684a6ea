import { describe, expect, it } from 'vitest'
import type { UsageSeen } from '../../src/core/records.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll, type PlimsollOptions } from '../../src/index.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'

type Fields = Record<string, unknown>

interface Vendor {
  readonly wire: 'anthropic-messages' | 'openai-responses'
  readonly path: string
  readonly model: string
  readonly body: (turns: readonly string[]) => Fields
  /** The earlier answer that a request names; undefined where it asks for nothing. */
  readonly namedIn: (body: Fields) => unknown
  /** What the vendor adds to its answer. */
  readonly diagnosis: (reason: string | undefined) => Fields
}

const VENDORS: readonly Vendor[] = [
  {
    wire: 'anthropic-messages',
    path: '/v1/messages',
    model: 'claude-sonnet-4-5',
    body: (turns) => ({
      max_tokens: 100,
      messages: turns.map((text, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: [{ type: 'text', text, cache_control: at === turns.length - 1 ? { type: 'ephemeral' } : undefined }],
      })),
    }),
    namedIn: ({ diagnostics }) => (diagnostics as Fields | undefined)?.['previous_message_id'],
    diagnosis: (reason) => ({
      diagnostics: {
        cache_miss_reason: reason === undefined ? null : { type: reason, cache_missed_input_tokens: 9_000 },
      },
    }),
  },
  {
    wire: 'openai-responses',
    path: '/v1/responses',
    model: 'gpt-5.6',
    body: (turns) => ({
      store: false,
      prompt_cache_options: { ttl: '30m' },
      input: turns.map((text, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: text })),
    }),
    namedIn: ({ prompt_cache_options: options }) => (options as Fields | undefined)?.['comparison_response_id'],
    diagnosis: (reason) => ({
      prompt_cache_diagnostics:
        reason === undefined ? { type: 'unavailable' } : { type: 'cache_miss', reason, cache_missed_tokens: 9_000 },
    }),
  },
]

const TURNS = Array.from({ length: 7 }, (_, at) =>
  Array.from({ length: 900 }, (__, word) => `word${(at * 7919 + word * 104729) % 9973}`).join(' '),
)

/** A referee that diagnoses, and whose cache is empty from the second call on. */
function scene(vendor: Vendor, options: Partial<PlimsollOptions> = {}) {
  const { wire, path, model, body, namedIn, diagnosis } = vendor
  let now = Date.UTC(2026, 0, 5)
  const clock = { now: () => now }
  // Two processes, one after the other, share it.
  const store = { ...memoryStore(), close: async () => undefined }
  const named: unknown[] = []
  let reason: string | undefined
  const provider = () => createReferee({ wire, window: 100_000, clock, script: () => say('Done.') })
  let referee = provider()
  const plimsoll = () =>
    createPlimsoll({
      store,
      artifacts: 'memory:',
      clock,
      cacheDiagnostics: true,
      async fetch(input, init) {
        const sent = JSON.parse(await new Request(input, init).text()) as Fields
        const answer = await referee.fetch(input, init)
        named.push(namedIn(sent))
        if (answer.status !== 200 || named.at(-1) === undefined) return answer
        return Response.json({ ...((await answer.json()) as Fields), ...diagnosis(reason) })
      },
      ...options,
    })
  let process = plimsoll()
  const headers = { 'content-type': 'application/json', authorization: 'Bearer k', 'x-api-key': 'k' }
  const logged = async (): Promise<UsageSeen[]> => {
    const calls: UsageSeen[] = []
    for await (const { record } of store.read('local', 's')) if (record.type === 'usage') calls.push(record)
    return calls
  }
  return {
    named,
    answer: (word: string | undefined) => void (reason = word),
    evict: () => void (referee = provider()),
    async restart(): Promise<void> {
      await process.close()
      process = plimsoll()
    },
    close: () => process.close(),
    async ask(count: number, more: Fields = {}): Promise<UsageSeen> {
      now += 10_000
      const asked = (await logged()).length
      const answer = await process.fetch(`http://referee.test${path}`, {
        method: 'POST',
        headers: { ...headers, 'anthropic-version': '2023-06-01', 'x-plimsoll-session': 's' },
        body: JSON.stringify({ model, ...body(TURNS.slice(0, count)), ...more }),
      })
      expect(answer.status, await answer.text()).toBe(200)
      await expect.poll(async () => (await logged()).length).toBe(asked + 1)
      return (await logged()).at(-1)!
    },
  }
}

describe.each(VENDORS)('a diagnosis of $wire', (vendor) => {
  const isAnthropic = vendor.wire === 'anthropic-messages'

  it('is asked for with the answer before, and stands beside our cause', async () => {
    const { named, answer, evict, ask, close } = scene(vendor)
    const first = await ask(3)
    // Anthropic has to be asked from the first call on; it then has nothing to compare.
    expect(named).toEqual([isAnthropic ? null : undefined])
    evict()
    answer('messages_changed')
    expect((await ask(5)).cache?.miss).toMatchObject({ cause: 'provider', provider: 'messages_changed' })
    expect(named[1]).toBe(first.response)
    evict()
    answer(undefined)
    expect((await ask(7)).cache?.miss?.provider).toBe(isAnthropic ? 'pending' : 'unavailable')
    await close()
  })

  it('tells the cause where another process made the call before', async () => {
    const { named, answer, evict, restart, ask, close } = scene(vendor)
    const first = await ask(3)
    await restart()
    evict()
    answer('tools_changed')
    expect((await ask(5)).cache?.miss).toMatchObject({ cause: 'client', path: 'tools', provider: 'tools_changed' })
    expect(named[1]).toBe(first.response)
    await restart()
    evict()
    answer(undefined)
    expect((await ask(7)).cache?.miss).toMatchObject({ cause: 'unknown' })
    await close()
  })

  it('is asked for by nobody but who set it, and never against what the client says', async () => {
    const off = scene(vendor, { cacheDiagnostics: false })
    await off.ask(3)
    await off.ask(5)
    expect(off.named).toEqual([undefined, undefined])
    await off.close()
    const own = scene(vendor)
    const given = isAnthropic
      ? { diagnostics: { previous_message_id: 'mine' } }
      : { prompt_cache_options: { comparison_response_id: 'mine' } }
    await own.ask(3)
    await own.ask(5, given)
    expect(own.named[1]).toBe('mine')
    await own.close()
  })
})

it('a diagnosis is not asked of a model that does not know it', async () => {
  const { named, ask, close } = scene(VENDORS[1]!)
  await ask(3, { model: 'gpt-5.5', prompt_cache_options: undefined })
  await ask(5, { model: 'gpt-5.5', prompt_cache_options: undefined })
  expect(named).toEqual([undefined, undefined])
  await close()
})
