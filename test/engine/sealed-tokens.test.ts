import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll, type PreparedTurn } from '../../src/index.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'

const MODEL = 'gpt-5.1'
const seal = (n: number): string => `gAAAA${'x'.repeat(4_000)}${String(n).padStart(40, '0')}`
const thought = (n: number) => ({ type: 'reasoning', id: `rs_${n}`, summary: [], encrypted_content: seal(n) })
const call = (n: number) => ({ type: 'function_call', call_id: `c${n}`, name: 'read', arguments: '{"path":"a.ts"}' })
const output = (n: number) => ({ type: 'function_call_output', call_id: `c${n}`, output: 'done' })
const task = { role: 'user', content: 'Find out why checkout is slow.' }

const answer = (items: readonly object[], reasoning: number) => ({
  id: 'resp_1',
  model: MODEL,
  status: 'completed',
  output: items,
  usage: {
    input_tokens: 60,
    output_tokens: reasoning + 20,
    output_tokens_details: { reasoning_tokens: reasoning },
    input_tokens_details: { cached_tokens: 0 },
  },
})

const body = (input: readonly object[]): string => JSON.stringify({ model: MODEL, input, max_output_tokens: 1_000 })

/** Another endpoint: the prompt that the first one measured says nothing about it, so that everything is counted by itself. */
const ELSEWHERE = [{ model: MODEL, endpoint: 'https://other.example' }]

interface Told {
  readonly items: readonly object[]
  readonly reasoning: number
}

async function afterAnswer(store: SessionStore, { items, reasoning }: Told, again = false): Promise<PreparedTurn> {
  const plimsoll = createPlimsoll({ store, exactTokens: false })
  const session = plimsoll.session({ id: 's' })
  if (!again) {
    const turn = await session.prepare({ format: 'openai-responses', body: body([task]) })
    await session.record({ turn: turn.id, response: answer(items, reasoning) })
  }
  return session.prepare({ format: 'openai-responses', body: body([task, ...items, output(1)]), targets: ELSEWHERE })
}

const loadOf = async (told: Told): Promise<number> => (await afterAnswer(memoryStore(), told)).load.count.tokens

describe('what an answer sealed', () => {
  it('counts as many tokens as the answer said, not what its ciphertext looks like', async () => {
    const items = [thought(1), call(1)]
    const [few, many] = [await loadOf({ items, reasoning: 500 }), await loadOf({ items, reasoning: 3_500 })]
    expect(many - few).toBe(3_000)
  })

  it('is shared out where an answer has several thoughts', async () => {
    const one = await loadOf({ items: [thought(1), call(1)], reasoning: 2_000 })
    const two = await loadOf({ items: [thought(1), thought(2), call(1)], reasoning: 2_000 })
    expect(Math.abs(two - one)).toBeLessThan(20)
  })

  it('is known to another process that reads the log', async () => {
    const store = memoryStore()
    const told = { items: [thought(1), call(1)], reasoning: 3_500 }
    const here = await afterAnswer(store, told)
    const there = await afterAnswer(store, told, true)
    expect(there.load.count).toEqual(here.load.count)
    expect(there.load.count.tokens).toBeGreaterThan(3_500)
  })

  it('stays a guess where the provider says nothing about its reasoning', async () => {
    const { load } = await afterAnswer(memoryStore(), { items: [thought(1), call(1)], reasoning: 0 })
    expect(load.count.tokens).toBeGreaterThan(400)
  })

  it('holds for a compaction, which took what the rest of the output did not', async () => {
    const compaction = (n: number) => ({ type: 'compaction', id: 'cmp_1', encrypted_content: seal(n) })
    const small = await loadOf({ items: [compaction(1), call(1)], reasoning: 0 })
    const items = [compaction(1), call(1)]
    const plimsoll = createPlimsoll({ store: memoryStore(), exactTokens: false })
    const session = plimsoll.session({ id: 's' })
    const turn = await session.prepare({ format: 'openai-responses', body: body([task]) })
    const told = answer(items, 0)
    await session.record({ turn: turn.id, response: { ...told, usage: { ...told.usage, output_tokens: 5_000 } } })
    const next = await session.prepare({
      format: 'openai-responses',
      body: body([...items, output(1)]),
      targets: ELSEWHERE,
    })
    expect(next.load.count.tokens).toBeGreaterThan(4_900)
    expect(small).toBeLessThan(2_000)
  })
})
