import { describe, expect, it } from 'vitest'
import { testEngine } from '../support/engine.ts'
import { inJson, prepareMessages } from './support/loop.ts'

const item = (n: number): object => ({
  role: n % 2 === 0 ? 'user' : 'assistant',
  content: `item ${n}: ${`word${n} `.repeat(120)}`,
})
const text = (n: number): string => (item(n) as { content: string }).content
const all = Array.from({ length: 13 }, (_, n) => item(n))

describe('B10: compacting a partial view', () => {
  it('replaces only what it has read: the rest is untouched when the whole history comes', async () => {
    const engine = testEngine()
    const session = engine.session()
    await session.compact()
    // A client that loaded the newest five of thirteen.
    const partial = await prepareMessages(session, all.slice(8), 1_800)
    expect(partial.report.newEpoch).toBeDefined()
    const whole = await prepareMessages(session, all)
    for (let n = 0; n < 8; n++) expect(whole.text, `item ${n}`).toContain(inJson(text(n)))
    // And nothing is out of reach: the archive has what the view has not.
    const archived: string[] = []
    for await (const { record } of engine.deps.sessions.read('local', 'test'))
      if (record.type === 'item-seen') archived.push(record.text)
    for (let n = 0; n < 13; n++) expect(archived).toContain(text(n))
  })
})
