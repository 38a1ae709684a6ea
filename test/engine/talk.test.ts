import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

const WINDOW = 12_000
const CHAT = ['Thanks, that sounds great!', 'How nice to hear that.', 'Tell me more about it.', 'I see what you mean.']

const factOf = (who: string, i: number): string => `${who} keeps locker ${1_000 + 7 * i} for cousin Zeb${i}ulon.`

/** What is in view once a conversation of many turns was compacted. */
async function viewOf(answerOf: (i: number) => string, perMessage = 1): Promise<string> {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', telemetry: false, recall: { auto: false } })
  const session = plimsoll.session({ id: 'talk' })
  const saidAt = (i: number): string => (i % 40 === 5 ? factOf('Ada', i) : `${CHAT[i % 4]!} ${CHAT[(i >> 2) % 4]!}`)
  const messages = Array.from({ length: 1_600 / perMessage }, (_, m) => {
    const said = Array.from({ length: perMessage }, (_, n) => saidAt(m * perMessage + n))
    return [
      { role: 'user', content: said.join('\n\n') },
      { role: 'assistant', content: answerOf(m) },
    ]
  }).flat()
  const body = { model: 'gpt-4o', messages: [...messages, { role: 'user', content: 'Go on.' }] }
  const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: 'gpt-4o', window: WINDOW }] })
  expect(turn.epoch).toBeDefined()
  await plimsoll.close()
  return turn.text
}

const shown = (view: string, who: string, at: (i: number) => boolean): number =>
  Array.from({ length: 1_600 }, (_, i) => i).filter((i) => at(i) && view.includes(factOf(who, i))).length

describe('a talk that has no room', () => {
  it('between equals keeps what both said, and not how they agreed', async () => {
    const view = await viewOf((i) => (i % 40 === 25 ? factOf('Bo', i) : `${CHAT[(i + 1) % 4]!} ${CHAT[(i >> 3) % 4]!}`))
    expect(shown(view, 'Ada', (i) => i % 40 === 5)).toBe(40)
    expect(shown(view, 'Bo', (i) => i % 40 === 25)).toBe(40)
  })

  it('keeps of long messages what their paragraphs say, not their beginnings and ends', async () => {
    const view = await viewOf((i) => `${CHAT[i % 4]!}`, 80)
    expect(shown(view, 'Ada', (i) => i % 40 === 5)).toBe(40)
  })

  it('keeps what people said before long explanations', async () => {
    const view = await viewOf((i) =>
      Array.from({ length: 12 }, (_, n) => `Item ${i * 12 + n} of glossary volume ${i}, entry quux${i * 31 + n}.`).join(
        ' ',
      ),
    )
    expect(shown(view, 'Ada', (i) => i % 40 === 5)).toBe(40)
  })
})
