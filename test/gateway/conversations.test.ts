import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { chainOf } from '../../src/core/chain.ts'
import { CLAUDE_CODE } from '../../src/core/identity.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { createPlimsoll } from '../../src/index.ts'
import { createConversations, type Conversations, type Unnamed, type Visit } from '../../src/gateway/conversations.ts'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 40)

/** A history from what was said in turns, the user first. */
function request(...said: string[]): Unnamed {
  const messages = said.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))
  const { items } = anthropicMessages.decode(JSON.stringify({ model: 'm', max_tokens: 1, messages }))
  return {
    tenant: 'local',
    scope: '',
    base: `chain-${hash(said[0]!).slice(0, 4)}`,
    items,
    links: chainOf(items, hash, CLAUDE_CODE),
  }
}

const answered = (visit: Visit, text: string): Promise<void> => {
  const { items } = request('', text)
  return visit.answered(items.filter(({ role }) => role === 'assistant'))
}

function open(store = memoryStore(), isShared = false): Conversations {
  return createConversations({ store, hash, isShared })
}

/** One request and its answer. */
async function turn(conversations: Conversations, said: readonly string[], answer: string): Promise<string> {
  const visit = await conversations.enter(request(...said))
  await answered(visit, answer)
  return visit.name
}

describe('conversations that nobody named', () => {
  it('are two when they only begin alike, with one answer or two', async () => {
    for (const [one, two] of [
      ['Hello, Alice.', 'Hello, Bob.'],
      ['Hello!', 'Hello!'],
    ] as const) {
      const on = open()
      const alice = await turn(on, ['Hi!'], one)
      const bob = await turn(on, ['Hi!'], two)
      expect(bob).not.toBe(alice)
      // Whoever goes on first goes on with a name of its own, and the other with the other.
      const second = [
        await turn(on, ['Hi!', two, 'I am Bob.'], 'Yes.'),
        await turn(on, ['Hi!', one, 'I am Alice.'], 'Yes.'),
      ]
      expect(new Set(second)).toEqual(new Set([alice, bob]))
      if (one !== two) expect(second).toEqual([bob, alice])
      expect(await turn(on, ['Hi!', one, 'I am Alice.', 'Yes.', 'Go on.'], 'Ok.')).toBe(second[1])
      expect(await turn(on, ['Hi!', two, 'I am Bob.', 'Yes.', 'Go on.'], 'Ok.')).toBe(second[0])
    }
  })

  it('are two when both are asked at the same moment', async () => {
    const on = open()
    const [one, two] = await Promise.all([on.enter(request('Hi!')), on.enter(request('Hi!'))])
    expect(one.name).not.toBe(two.name)
  })

  it('are one when a request that got no answer comes again, and when a later one is asked twice', async () => {
    const on = open()
    const first = await on.enter(request('Hi!'))
    first.failed()
    const again = await on.enter(request('Hi!'))
    expect(again.name).toBe(first.name)
    await answered(again, 'Hello.')
    expect(await turn(on, ['Hi!', 'Hello.', 'Why?'], 'So.')).toBe(first.name)
    expect(await turn(on, ['Hi!', 'Hello.', 'Why?'], 'Because.')).toBe(first.name)
    expect(await turn(on, ['Hi!', 'Hello.', 'Why?', 'Because.', 'Ok.'], 'Bye.')).toBe(first.name)
  })

  it('are one when the next request is faster than the record of the answer', async () => {
    const on = open()
    const first = await on.enter(request('Hi!'))
    const second = await on.enter(request('Hi!', 'Hello.', 'Why?'))
    expect(second.name).toBe(first.name)
    await answered(first, 'Hello.')
    await answered(second, 'So.')
    expect(await turn(on, ['Hi!', 'Hello.', 'Why?', 'So.', 'Ok.'], 'Bye.')).toBe(first.name)
  })

  it('part when one is rewound or forked, and the first keeps its name', async () => {
    const on = open()
    const first = await turn(on, ['Hi!'], 'Hello.')
    await turn(on, ['Hi!', 'Hello.', 'Why?'], 'So.')
    await turn(on, ['Hi!', 'Hello.', 'Why?', 'So.', 'Ok.'], 'Bye.')
    const fork = await turn(on, ['Hi!', 'Hello.', 'How?'], 'Thus.')
    expect(fork).not.toBe(first)
    expect(await turn(on, ['Hi!', 'Hello.', 'How?', 'Thus.', 'Go on.'], 'Ok.')).toBe(fork)
    expect(await turn(on, ['Hi!', 'Hello.', 'Why?', 'So.', 'Ok.', 'Bye.', 'Wait!'], 'Yes?')).toBe(first)
  })

  it('stay one when the client rewrites its newest message, or one of the old ones', async () => {
    const on = open()
    const told = ['Fix it.', 'a1', 'm2', 'a2', 'm3', 'a3'].map((text, i) =>
      i % 2 === 0 ? text : `${text}: I looked at the file and found what was wrong with it.`,
    )
    const first = await turn(on, [told[0]!], told[1]!)
    for (const length of [3, 5]) {
      const now = [...told.slice(0, length - 1), `${told[length - 1]} (today is Monday)`]
      expect(await turn(on, now, told[length]!)).toBe(first)
    }
    await turn(on, [...told, 'm4'], 'a4')
    expect(await turn(on, [...told.slice(0, 2), '[cleared]', ...told.slice(3), 'm4', 'a4', 'm5'], 'a5')).toBe(first)
  })

  it('keep their names over a restart, and are told apart after it', async () => {
    const store = memoryStore()
    const before = open(store)
    const alice = await turn(before, ['Hi!'], 'Hello, Alice.')
    const bob = await turn(before, ['Hi!'], 'Hello, Bob.')
    const after = open(store)
    expect(await turn(after, ['Hi!', 'Hello, Bob.', 'Go on.'], 'Ok.')).toBe(bob)
    expect(await turn(after, ['Hi!', 'Hello, Alice.', 'Go on.'], 'Ok.')).toBe(alice)
    expect(await turn(after, ['Hi!', 'Hello, Alice.', 'Another way.'], 'Ok.')).not.toBe(alice)
  })

  it('are told apart by several proxies on one store', async () => {
    const store = memoryStore()
    const [here, there] = [open(store, true), open(store, true)]
    const names = await Promise.all([turn(here, ['Hi!'], 'Hello, Alice.'), turn(there, ['Hi!'], 'Hello, Bob.')])
    expect(new Set(names).size).toBe(2)
    expect(await turn(there, ['Hi!', 'Hello, Alice.', 'Go on.'], 'Ok.')).toBe(names[0])
    expect(await turn(here, ['Hi!', 'Hello, Bob.', 'Go on.'], 'Ok.')).toBe(names[1])
    expect(await turn(here, ['Hi!', 'Hello, Alice.', 'Go on.', 'Ok.', 'More.'], 'Ok.')).toBe(names[0])
  })

  it('take a bounded room in the store, however many there are', async () => {
    const values = new Map<string, string>()
    const store = memoryStore()
    const on = open({
      ...store,
      setValue: (tenant, key, value) => {
        values.set(key, value)
        return store.setValue(tenant, key, value)
      },
    })
    for (let i = 0; i < 300; i++) await turn(on, ['Hi!'], `Hello ${i}.`)
    expect(values.size).toBe(1)
    expect((JSON.parse([...values.values()][0]!) as unknown[]).length).toBe(64)
  })
})

describe('two users behind one key who begin alike', () => {
  it('have a ledger, pins and budgets of their own', async () => {
    const sessions: string[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      artifacts: 'memory:',
      budgets: [{ name: 'calls', scope: 'session', unit: 'tokens', hard: 2_000, finalShare: 0 }],
      fetch: async () =>
        Response.json({
          id: 'msg',
          type: 'message',
          role: 'assistant',
          model: 'claude-opus-4-6',
          content: [{ type: 'text', text: 'Hello!' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 900, output_tokens: 10 },
        }),
    })
    const ask = async (...said: string[]): Promise<string> => {
      const messages = said.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))
      const response = await plimsoll.fetch('https://api.anthropic.com/v1/messages', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': 'app' },
        body: JSON.stringify({ model: 'claude-opus-4-6', max_tokens: 64, messages }),
      })
      await response.text()
      sessions.push(response.headers.get('x-plimsoll-session')!)
      return response.headers.get('x-plimsoll-verdict')!
    }
    try {
      // Five users say the same; together they would be over the budget of one session.
      for (let user = 0; user < 5; user++) expect(await ask('Hi!')).toBe('proceed')
      expect(new Set(sessions).size).toBe(5)
    } finally {
      await plimsoll.close()
    }
  })
})
