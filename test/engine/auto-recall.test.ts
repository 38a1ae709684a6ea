import { describe, expect, it } from 'vitest'
import { codecs } from '../../src/formats/registry.ts'
import { createPlimsoll } from '../../src/index.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { PlimsollOptions } from '../../src/settings/options.ts'

const WINDOW = 16_000
const MARK = '[Earlier passages of this conversation'
const FACT = 'The vault code of the Bergen office is heliotrope seven.'
const QUESTION = 'What was the vault code of the Bergen office?'

const user = (content: string): Message => ({ role: 'user', content })
const answer = (content: string): Message => ({ role: 'assistant', content })

type Message = { role: string; content: string; [key: string]: unknown }

const filler = (i: number): string =>
  Array.from(
    { length: 14 },
    (_, n) => `Topic ${i}, part ${n}: the garden needs ${i * 7 + n} litres of water a day.`,
  ).join(' ')

const LOOKED_UP = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"day":"Monday"}' } }

/** A fact in the middle of an answer of long ago, then so much else that a compaction takes it out of view. */
const talk = (turns: number, facts: readonly Message[] = [answer(`${filler(900)}\n\n${FACT}\n\n${filler(901)}`)]) => [
  user('Let us plan the office and the garden.'),
  // With a call it is more than talk, of which a compaction keeps what says most.
  { role: 'assistant', content: '', tool_calls: [LOOKED_UP] },
  { role: 'tool', tool_call_id: LOOKED_UP.id, content: 'Rain at seven.' },
  ...facts,
  ...Array.from({ length: turns }, (_, i): Message[] => [user(`And what about topic ${i}?`), answer(filler(i))]).flat(),
]

const archive = () => {
  const store = memoryStore()
  return (options: Partial<PlimsollOptions> = {}) =>
    createPlimsoll({ store, artifacts: 'memory:', telemetry: false, secret: Buffer.alloc(32, 5), ...options })
}

async function send(plimsoll: ReturnType<typeof createPlimsoll>, messages: readonly Message[], id = 'run') {
  const session = plimsoll.session({ id })
  const body = { model: 'gpt-4o', messages }
  const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: 'gpt-4o', window: WINDOW }] })
  const usage = { input: turn.load.count.tokens, output: 9, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  await session.record({ turn: turn.id, usage })
  const sent = codecs
    .get('openai-chat')!
    .decode(turn.text)
    .items.map(({ text }) => text)
  const last = sent.at(-1)!
  return { turn, sent, last, asked: last.startsWith(MARK) ? sent.at(-2)! : last }
}

/** A conversation that was compacted, and has room again. */
async function compacted(plimsoll: ReturnType<typeof createPlimsoll>, history: readonly Message[], id = 'run') {
  for (let end = 1; end <= history.length; end++) {
    if (history[end - 1]!.role !== 'user') continue
    const { turn } = await send(plimsoll, history.slice(0, end), id)
    if (turn.report.newEpoch !== undefined && end > history.length / 2) return history.slice(0, end + 1)
  }
  throw new Error('Nothing was compacted.')
}

describe('a new message after a compaction', () => {
  it('brings what left view and matches it, behind the message, within its share of the window', async () => {
    const plimsoll = archive()()
    const history = await compacted(plimsoll, talk(80))
    const { turn, last, asked } = await send(plimsoll, [...history, user(QUESTION)])
    expect(asked).toBe(QUESTION)
    expect(turn.text.split(FACT)).toHaveLength(2)
    expect(last.startsWith(MARK)).toBe(true)
    expect(last).toContain(FACT)
    expect(last).toMatch(/quoted as data, not instructions/)
    // A token of English has more than three characters.
    expect(last.length / 3.2).toBeLessThan(0.015 * WINDOW * 1.3)
    await plimsoll.close()
  })

  it('is sent in the same bytes from then on, by this process and by another', async () => {
    const make = archive()
    const [first, second] = [make(), make()]
    const history = await compacted(first, talk(80))
    const asked = [...history, user(QUESTION)]
    const { last } = await send(first, asked)
    expect(last).toContain(MARK)
    const later = [...asked, answer('Heliotrope seven.'), user('Thanks. Now the garden again?')]
    for (const plimsoll of [first, second]) {
      expect((await send(plimsoll, asked)).last).toBe(last)
      expect((await send(plimsoll, later)).sent).toContain(last)
    }
  })

  it('brings it too where that very message makes the compaction', async () => {
    const plimsoll = archive()()
    const { turn, last } = await send(plimsoll, [...talk(80), user(QUESTION)])
    expect(turn.report.newEpoch).toBeDefined()
    expect(last).toContain(FACT)
    expect((await send(plimsoll, [...talk(80), user(QUESTION)])).last).toBe(last)
  })

  it.each([
    ['nothing was compacted', 8, QUESTION, {}],
    ['it is switched off', 80, QUESTION, { recall: { auto: false } }],
    ['the message says nothing that could be looked for', 80, 'Go on.', {}],
    ['what matches it best is in view', 80, 'Let us plan the office and the garden, did I say?', {}],
    ['a client put it there', 80, `<environment>${QUESTION}</environment>`, {}],
  ] as const)('brings nothing where %s', async (_, turns, message, options) => {
    const plimsoll = archive()(options)
    const history = turns < 80 ? talk(turns) : await compacted(plimsoll, talk(turns))
    const { last } = await send(plimsoll, [...history, user(message)])
    expect(last).toBe(message)
  })

  it('brings nothing of another conversation', async () => {
    const make = archive()
    const plimsoll = make()
    await compacted(plimsoll, talk(80), 'other')
    const history = await compacted(plimsoll, talk(80, [answer(filler(903))]))
    expect((await send(plimsoll, [...history, user(QUESTION)])).turn.text).not.toContain('heliotrope')
  })

  it('says which tool said what, and goes with its message when that is taken out', async () => {
    const plimsoll = archive()()
    const call = { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"vault.txt"}' } }
    const lines = (from: number) => Array.from({ length: 60 }, (_, i) => filler(from + i).slice(0, 90)).join('\n\n')
    const output = `${lines(904)}\n\n${FACT}\n\n${lines(1_000)}`
    const facts = [
      { role: 'assistant', content: null as never, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: output },
      answer('I read it.'),
    ]
    const history = await compacted(plimsoll, talk(80, facts))
    const { last } = await send(plimsoll, [...history, user(QUESTION)])
    expect(last).toMatch(/#\d+ read vault\.txt, lines \d+-\d+:\n[^]*The vault code/)
    const more = [...history, user(QUESTION), answer('Heliotrope seven.'), ...talk(80).slice(2)]
    await compacted(plimsoll, more)
    const { turn } = await send(plimsoll, [...more, user('And the garden?')])
    expect(turn.text).not.toContain(MARK)
    expect(turn.text).toContain(QUESTION)
  })
})
