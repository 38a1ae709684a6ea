import { describe, expect, it } from 'vitest'
import type { Item } from '../../src/core/item.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll } from '../../src/index.ts'
import { recall, type RecallAnswer } from '../../src/engine/readers/recall.ts'

type Said = Pick<Item, 'kind' | 'text'> & Partial<Item>

const ROLES = { user: 'user', assistant: 'assistant', call: 'assistant', result: 'tool' } as const

const itemsOf = (said: readonly Said[]): Item[] =>
  said.map((one, i) => ({ id: `${i}`, role: ROLES[one.kind as keyof typeof ROLES], message: i, ...one }))

const find = (said: readonly Said[], query: string, options: { maxCharacters?: number; limit?: number } = {}) =>
  recall({ items: itemsOf(said), links: [] }, query, options)

const user = (text: string): Said => ({ kind: 'user', text })
const answer = (text: string): Said => ({ kind: 'assistant', text })
const run = (tool: string, input: object, text: string, callId: string): Said[] => [
  { kind: 'call', text: JSON.stringify(input), toolName: tool, callId },
  { kind: 'result', text, toolName: tool, callId },
]

const essay = (about: string): Said =>
  answer(
    Array.from(
      { length: 12 },
      (_, i) => `${about}, part ${i}. When the first step of it does end, the next one begins.`,
    ).join('\n\n'),
  )

describe('what recall finds', () => {
  it('is the sentence that answers, and not the longest texts', async () => {
    const said = [
      essay('Authentication'),
      user('The first sprint ends on March 29.'),
      essay('Sessions'),
      essay('Passwords'),
    ]
    const { items, text } = await find(said, 'When does my first sprint end?', { maxCharacters: 600 })
    expect(items[0]!.excerpt).toBe('The first sprint ends on March 29.')
    expect(text.length).toBeLessThanOrEqual(600)
  })

  it('is an answer that stands behind the question that has the words', async () => {
    const filler = Array.from({ length: 20 }, (_, i) => answer(`Some other remark, number ${i}.`))
    const said = [...filler, answer('Which restaurant did you book for the anniversary?'), user('Bellini.'), ...filler]
    const { items } = await find(said, 'restaurant for the anniversary', { limit: 2 })
    expect(items.map(({ excerpt }) => excerpt)).toContain('Bellini.')
  })

  it('is the newest state of a file, with its place, once', async () => {
    const code = (limit: number) =>
      `export const retries = 5\nexport const limit = ${limit}\nexport function send(order: Order) {\n  return queue.push(order, { retries, limit })\n}`
    const said = [
      ...run('Read', { file_path: 'src/mail/send.ts' }, code(10), 'a'),
      ...run('Read', { file_path: 'src/mail/other.ts' }, 'export const other = 1', 'b'),
      ...run('Read', { file_path: 'src/mail/send.ts' }, code(20), 'c'),
    ]
    const { items, text } = await find(said, 'limit in src/mail/send.ts')
    const shown = items.filter(({ kind }) => kind === 'result' && text.includes('limit'))
    expect(shown[0]!.excerpt).toContain('limit = 20')
    expect(text).not.toContain('limit = 10')
    expect(text).toContain('#6 Read src/mail/send.ts, lines 1-5:')
  })

  it.each(['/home/me/app/src/mail/send.ts', 'src/mail/send.ts', 'mail/send.ts, please'])(
    'is the newest state of the part of a file that the words point to: %s',
    async (file) => {
      const part = (name: string, n: number) =>
        `export function ${name}(order: Order) {\n  return queue.push(order, ${n})\n}\n\n`
      const code = (n: number) => ['open', 'close', 'retry', 'drop'].map((name) => part(name, n)).join('')
      const said = [
        ...run('Read', { file_path: '/home/me/app/src/mail/send.ts' }, code(10), 'a'),
        answer('The mail is sent by send.ts, and retry is what retries an order in the queue.'),
        ...run('Read', { file_path: '/home/me/app/src/mail/send.ts' }, code(20), 'b'),
        ...run('Read', { file_path: '/home/me/app/src/log/retry.ts' }, 'retry the order, retry the queue', 'c'),
        answer('To retry an order means to push it to the queue again, said the retry of the order.'),
      ]
      const { items } = await find(said, `how the order is pushed by retry ${file}`, { limit: 3 })
      expect(items[0]!.excerpt).toContain('retry(order: Order) {\n  return queue.push(order, 20)')
    },
  )

  it('is what a command gave when it was last run', async () => {
    const said = [
      ...run('Bash', { command: 'npm run check -- --all' }, '3 problems in billing', 'a'),
      user('There were problems in billing, many problems, and billing was all that we spoke of.'),
      ...run('Bash', { command: 'npm run check -- --all' }, 'no problems', 'b'),
    ]
    expect((await find(said, 'problems now? npm run check -- --all')).items[0]!.excerpt).toBe('no problems')
  })

  it('says that something later has taken the place of what it shows', async () => {
    const said = [
      ...run('Bash', { command: 'npm test' }, 'FAIL billing: total is NaN', 'a'),
      ...run('Bash', { command: 'npm test' }, 'all 31 tests pass', 'b'),
    ]
    expect((await find(said, 'billing total NaN')).text).toContain('#2 Bash npm test, lines 1-1, again in #4:')
  })

  it.each([
    ['file:send.ts limit', ['#1', '#2']],
    ['tool:bash limit', ['#3', '#4']],
    ['role:user limit', ['#5']],
    ['"the limit is 30"', ['#5']],
    ['"=> {"', ['#7']],
    ['"limit of" role:tool', ['#4']],
  ])('is narrowed by %s', async (query, names) => {
    const said = [
      ...run('Read', { path: 'src/send.ts' }, 'limit = 10', 'a'),
      ...run('bash', { command: 'grep limit' }, 'the limit of it', 'b'),
      user('the limit is 30'),
      answer('a limit of thirty'),
      answer('() => { }'),
    ]
    const { items } = await find(said, query)
    expect(items.map(({ handle }) => handle ?? '').sort()).toEqual(names)
  })

  it.each([
    ['English', 'Researching adoption agencies takes weeks', 'who researches agency adoptions'],
    ['German', 'Die Lieferungen waren leider nicht in den Häusern', 'Wo ist die Lieferung'],
    ['French', 'Les livraisons ne sont pas dans les maisons', 'Où est la livraison'],
    ['Russian', 'Все поставки были на складе', 'где поставка'],
    ['Chinese', '数据库连接失败,请重试', '连接失败'],
    ['Thai', 'การเชื่อมต่อฐานข้อมูลล้มเหลว', 'ฐานข้อมูล'],
    ['code', 'function readSessionFile() {}', 'read_session_file'],
  ])('is found by other forms of its words: %s', async (_, text, query) => {
    const said = [answer('Nothing to see here at all.'), user(text), answer('More of nothing comes later.')]
    expect((await find(said, query)).items[0]?.excerpt).toBe(text)
  })

  it('is said once where nearly the same stands twice', async () => {
    const line = 'The deployment to the northern cluster needs the approval of two people from the platform team'
    const { items } = await find([user(`${line}.`), answer('Noted.'), user(`${line}!`)], 'approval for the deployment')
    expect(items.filter(({ excerpt }) => excerpt.startsWith(line)).map(({ handle }) => handle)).toEqual(['#3'])
  })

  it('says what of a query is not understood', async () => {
    const { text, items } = await find([user('The rollout is stuck.')], 'rollout since:yesterday')
    expect(items).toHaveLength(1)
    expect(text).toMatch(/^\(since:yesterday is no time: give 2h, 3d or a date\.\)\n#1: The rollout/)
  })

  it('says what was searched where there is nothing, and the words that come nearest', async () => {
    const { text, items } = await find([user('The kubernetes rollout is stuck.')], 'cubernetes')
    expect(items).toEqual([])
    expect(text).toMatch(/^Nothing in this conversation mentions "cubernetes"; 1 entry was searched.*kubernetes/)
  })
})

describe('a request and its archive', () => {
  it('give the same first five, and both open what they name', async () => {
    const store = memoryStore()
    const open = () => createPlimsoll({ store, artifacts: 'memory:', secret: Buffer.alloc(32, 3) })
    const [working, reading] = [open(), open()]
    const messages = Array.from({ length: 40 }, (_, i) => ({
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: `Remark ${i} on the ${['harbour', 'lighthouse', 'ferry', 'pilot'][i % 4]} and its ${['crew', 'lamp', 'timetable'][i % 3]}.`,
    }))
    messages.push({ role: 'user', content: 'Go on.' })
    const session = working.session({ id: 'run' })
    const turn = await session.prepare({
      format: 'openai-chat',
      body: { model: 'gpt-4o', messages },
      targets: [{ model: 'gpt-4o', window: 64_000 }],
    })
    await session.record({ turn: turn.id, usage: { input: 9, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 } })
    const archived = reading.archive.readers({ session: 'run' })
    for (const query of ['lamp of the lighthouse', 'ferry timetable', 'pilot']) {
      const here = (await session.recall(query)).items.slice(0, 5).map(({ excerpt }) => excerpt)
      const there = (await archived.call({ name: 'recall', input: { query } })) as RecallAnswer
      expect(there.items.slice(0, 5).map(({ excerpt }) => excerpt)).toEqual(here)
    }
    const { items } = await session.recall('ferry timetable')
    const handle = items[0]!.handle!
    const scope = await session.scope()
    expect(await scope.stored(handle)).toMatch(/^art_/)
    const found = (await archived.call({ name: 'recall', input: { query: 'ferry timetable' } })) as RecallAnswer
    const whole = await archived.call({ name: 'artifact_read', input: { handle: found.items[0]!.handle! } })
    expect(whole).toMatchObject({ ok: true, text: expect.stringContaining('ferry and its timetable') as unknown })
  })
})
