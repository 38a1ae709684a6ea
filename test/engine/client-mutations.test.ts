import { describe, expect, it } from 'vitest'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const FORMAT = 'anthropic-messages'
const targets = [{ model: 'claude-sonnet-4-5', window: 8_000 }]
type Body = ReturnType<typeof toolLoop> & { system?: unknown }
interface Block {
  type?: string
  text?: string
  input?: Record<string, unknown>
}

const blocksOf = (body: Body, message: number): Block[] => body.messages[message]!.content as Block[]

/** What real clients do to bytes that they sent before. `survives`: the epoch still applies afterwards, and how. */
const MUTATIONS: { name: string; survives: 'exactly' | 'moved' | 'orphaned'; mutate: (body: Body) => void }[] = [
  {
    name: 'moves its cache mark',
    survives: 'exactly',
    mutate: (body) => Object.assign(blocksOf(body, 4)[0]!, { cache_control: { type: 'ephemeral' } }),
  },
  {
    name: 'injects a reminder',
    survives: 'exactly',
    mutate: (body) =>
      blocksOf(body, 6).push({ type: 'text', text: '<system-reminder>The todo list is empty.</system-reminder>' }),
  },
  {
    name: 'changes the date in its instructions',
    survives: 'exactly',
    mutate: (body) => (body.system = 'Today is 2026-11-16.'),
  },
  {
    name: 'writes arguments again with other key order',
    survives: 'exactly',
    mutate: (body) => (blocksOf(body, 5)[1]!.input = { limit: 100, path: 'src/file-3.ts' }),
  },
  {
    name: 'turns a string into a block',
    survives: 'exactly',
    mutate: (body) => (body.messages[0]!.content = [{ type: 'text', text: body.messages[0]!.content as string }]),
  },
  {
    name: 'trims white space',
    survives: 'exactly',
    mutate: (body) => (blocksOf(body, 7)[0]!.text = ` ${blocksOf(body, 7)[0]!.text} `),
  },
  {
    name: 'rewrites one old answer',
    survives: 'moved',
    mutate: (body) => (blocksOf(body, 9)[0]!.text = 'I said something else.'),
  },
  {
    name: 'compacts the history itself',
    survives: 'orphaned',
    mutate: (body) =>
      body.messages.splice(1, body.messages.length - 5, { role: 'assistant', content: 'My own summary.' }),
  },
]

describe('a client that changes what it sent', () => {
  it.each(MUTATIONS)('$name: the epoch is kept $survives, and nothing overflows', async ({ survives, mutate }) => {
    const { session, events } = testEngine()
    const agent = session()
    for (let steps = 1; steps <= 60; steps++)
      await agent.prepare({ format: FORMAT, body: toolLoop({ steps }), targets })
    const standing = (await agent.prepare({ format: FORMAT, body: toolLoop({ steps: 60 }), targets })).epoch
    expect(standing).toBeDefined()
    events.length = 0
    const changed: Body = structuredClone(toolLoop({ steps: 61 }))
    mutate(changed)
    const turn = await agent.prepare({ format: FORMAT, body: changed, targets })
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(anthropicMessages.check(turn.body)).toEqual([])
    const said = events.map((event) => event.type).filter((type) => type.startsWith('epoch-'))
    if (survives === 'exactly') {
      expect(said).toEqual([])
      expect(turn.epoch).toBe(standing)
    } else if (survives === 'moved') {
      expect(said).toEqual(['epoch-reanchored'])
      const again = await agent.prepare({
        format: FORMAT,
        body: { ...changed, messages: [...changed.messages] },
        targets,
      })
      expect(again.text === turn.text).toBe(true)
    } else {
      expect(said).toContain('epoch-orphaned')
    }
  })

  it('finds a moved epoch again in a fresh process', async () => {
    const engine = testEngine()
    const agent = engine.session()
    for (let steps = 1; steps <= 60; steps++)
      await agent.prepare({ format: FORMAT, body: toolLoop({ steps }), targets })
    const changed: Body = structuredClone(toolLoop({ steps: 61 }))
    blocksOf(changed, 9)[0]!.text = 'I said something else.'
    const turn = await agent.prepare({ format: FORMAT, body: changed, targets })
    const fresh = await testEngine({ sessions: engine.deps.sessions })
      .session()
      .prepare({ format: FORMAT, body: changed, targets })
    expect(fresh.text === turn.text).toBe(true)
  })
})

describe('a prefix that changed', () => {
  const prefixEvents = async (change: (before: Body) => Body): Promise<readonly object[]> => {
    const { session, events } = testEngine()
    const agent = session()
    const prepare = (body: Body) => agent.prepare({ format: FORMAT, body: JSON.stringify(body), targets: ROOMY })
    await prepare(toolLoop({ steps: 3 }))
    await prepare(change(toolLoop({ steps: 4 })))
    return events.filter(({ type }) => type === 'prefix-broken')
  }
  const ROOMY = [{ model: 'claude-sonnet-4-5', window: 200_000 }]

  it('is told with the item from which on the bytes are others', async () => {
    const found = await prefixEvents((body) => {
      blocksOf(body, 3)[0]!.text = 'I said something else.'
      return body
    })
    expect(found).toMatchObject([{ type: 'prefix-broken', by: 'client', atItem: 4 }])
  })

  it.each([
    { name: 'a history that only grew', change: (body: Body) => body },
    { name: 'a rewind', change: () => toolLoop({ steps: 2 }) },
    { name: 'another conversation', change: () => toolLoop({ steps: 2, task: 'Something else entirely.' }) },
  ])('is not told of $name', async ({ change }) => {
    expect(await prefixEvents(change)).toEqual([])
  })
})
