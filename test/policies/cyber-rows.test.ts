import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { cyberDesign } from '../../src/engine/presets/cyber-autoagent/policy.ts'
import { cyberAutoagent } from '../../src/engine/presets/index.ts'
import { contentsApart } from '../support/joined.ts'
import { brokenPairs, call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

/** Rows of Cyber-AutoAgent's own test table that need other numbers than its variables allow, or several at once. */

const ROOM = 2_000_000
const talk = (count: number, length = 40): Content[] =>
  Array.from({ length: count }, (_, n) => (n % 2 === 0 ? user : model)(`${n} ${chars(length)}`))

/** A window as its class takes it: the variables clamp theirs to 10…120. */
function sized(window: number, first: number, last: number, more: Record<string, string> = {}): Policy {
  const base = cyberAutoagent(more)
  const zones = { preserveFirst: first, preserveLast: last }
  return {
    ...base,
    design: cyberDesign(window, 0.1),
    cascade: base.cascade.map((step) =>
      step.step === 'window'
        ? { ...step, ...zones, size: window }
        : step.step === 'compress-results'
          ? { ...step, ...zones }
          : step,
    ),
  }
}

describe('the window', () => {
  it('window 3, 5 messages: the first and the last are left, the middle is gone', async () => {
    const history = talk(5, 400)
    const { contents } = await presetSession(sized(3, 1, 1), ROOM).prepare(history)
    expect(contents[0]).toEqual(history[0])
    expect(contents.at(-1)).toEqual(history[4])
    // Beside the line that says what left, the answer just before the newest message stays with it.
    expect(contents.map(textOf)).not.toContain(textOf(history[1]!))
    expect(contents.map(textOf)).not.toContain(textOf(history[2]!))
  })

  it.each([10, 30, 50, 100, 200])('a window of %i holds with 1.5 times as many messages', async (window) => {
    const history = talk(Math.floor(window * 1.5) | 1)
    const { contents } = await presetSession(sized(window, 1, 5), ROOM).prepare(history)
    expect(contents.length).toBeLessThanOrEqual(window)
  })

  it('window 10, 5 kept, 20 messages: 18 and 19 are there', async () => {
    const history = [...talk(19), user('19 last')]
    const { contents } = await presetSession(sized(10, 1, 5), ROOM).prepare(history)
    expect(contents.map(textOf)).toEqual(expect.arrayContaining([textOf(history[18]!), '19 last']))
  })

  it.each([
    { window: 10, messages: 13 },
    { window: 6, messages: 12 },
    { window: 8, messages: 12 },
  ])('window $window, pairs on its boundary: none is split', async ({ window, messages }) => {
    const pairs = Array.from({ length: messages / 2 }, (_, n) => [call(`c${n}`), result(`c${n}`, 'ok')]).flat()
    const { contents } = await presetSession(sized(window, 1, 2), ROOM).prepare([user('Go.'), ...pairs])
    expect(brokenPairs(contents)).toEqual([])
  })

  it.each([
    ['1', 10],
    ['-5', 100],
    ['200', 120],
  ])('CYBER_CONVERSATION_WINDOW=%s is a window of %i', (value, size) => {
    const policy = cyberAutoagent({ CYBER_CONVERSATION_WINDOW: value })
    expect(policy.cascade).toContainEqual(expect.objectContaining({ step: 'window', size }))
  })

  it('5 at a time, 10 histories of 25 messages each in a window of 20: none is larger than that', async () => {
    const preset = presetSession(sized(20, 1, 5), ROOM)
    const lengths = await Promise.all(
      Array.from({ length: 5 }, async (_, agent) => {
        const found: number[] = []
        for (let n = 0; n < 10; n++) {
          const session = preset.plimsoll.session({ id: `s${agent}-${n}` })
          const turn = await session.prepare({
            format: 'gemini',
            body: { contents: talk(25), generationConfig: { maxOutputTokens: 16 } },
            targets: [{ model: 'test-model', window: ROOM }],
          })
          found.push(contentsApart((JSON.parse(turn.text) as { contents: Content[] }).contents).length)
        }
        return found
      }),
    )
    expect(lengths.flat()).toHaveLength(50)
    expect(Math.max(...lengths.flat())).toBeLessThanOrEqual(20)
  })

  it('leaves the caller’s own messages as they are, and decides the same each time', async () => {
    const history = talk(15)
    const copy = structuredClone(history)
    const texts = await Promise.all(
      [1, 2].map(async () => (await presetSession(sized(10, 1, 5), ROOM).prepare(history)).text),
    )
    expect(history).toEqual(copy)
    expect(texts[0]).toBe(texts[1])
  })
})

describe('zones', () => {
  const large = (at: number): Content[] => {
    const history = talk(29)
    return [...history.slice(0, at), call('c'), result('c', chars(12_000)), ...history.slice(at)]
  }
  const untouched = { CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD: '1000000' }

  it('a large result among the first 3 stays whole', async () => {
    const history = large(1)
    const { contents } = await presetSession(sized(40, 3, 5, untouched), ROOM).prepare(history)
    expect(contents[2]).toEqual(history[2])
  })

  it.each([
    { first: 0, last: 5, window: 50 },
    { first: 1, last: 10, window: 50 },
    { first: 2, last: 15, window: 50 },
    { first: 1, last: 0, window: 50 },
    { first: 5, last: 15, window: 20 },
  ])('$first + $last in $window keep at most half of it from compression', async ({ first, last, window }) => {
    const results = Array.from({ length: 20 }, (_, n) => [call(`c${n}`), result(`c${n}`, chars(12_000))]).flat()
    const { contents } = await presetSession(sized(window, first, last, untouched), ROOM).prepare([
      user('Go.'),
      ...results,
      model('Ok.'),
      user('Next.'),
    ])
    const whole = contents.filter((content) => textOf(content) === chars(12_000)).length
    // The open step stays whole beside the zones.
    expect(whole).toBeLessThanOrEqual(Math.floor(window / 4) + 1)
  })

  it.each([
    ['60', 9],
    ['100', 15],
    ['30', 8],
  ])('auto in a window of %s keeps %i', (window, last) => {
    const policy = cyberAutoagent({ CYBER_CONVERSATION_WINDOW: window, CYBER_CONVERSATION_PRESERVE_LAST: 'auto' })
    expect(policy.cascade).toContainEqual(expect.objectContaining({ step: 'window', preserveLast: last }))
  })
})

describe('exhaustion', () => {
  // Deviation (1): the design raises "exhausted" where zones cover everything; here the largest parts become preview + handle.
  it.each([2, 20])('%i messages that cannot be dropped are shortened instead', async (count) => {
    const history = [...talk(count, 60_000).slice(0, -1), user(chars(60_000))]
    const { verdict, limit, text } = await presetSession(sized(10, 1, 1), 20_000).prepare(
      count === 2 ? [history[0]!, model('Ok.'), history[1]!] : history,
    )
    expect(verdict).toMatchObject({ kind: 'proceed' })
    expect(verdict.kind === 'proceed' && verdict.projected).toBeLessThanOrEqual(limit.tokens)
    expect(text).toMatch(/art_[0-9a-z]{26}/)
  })
})

describe('the budget', () => {
  it.each([
    { name: '10 texts of 4,000 in 20,000', window: 20_000, history: [...talk(10, 4_000), user('Go.')], reduces: true },
    { name: 'a short text in 100,000', window: 100_000, history: talk(3, 20), reduces: false },
    { name: '2 texts of 4,000 in 20,000', window: 20_000, history: talk(3, 4_000), reduces: true },
    { name: '100 characters in 50,000', window: 50_000, history: talk(1, 100), reduces: false },
  ])('$name: over the line $reduces', async ({ window, history, reduces }) => {
    for (const name of ['claude-sonnet-4-5', 'gpt-4o']) {
      const preset = presetSession(cyberAutoagent(), window)
      const turn = await preset.plimsoll.session({ id: name }).prepare({
        format: 'gemini',
        body: { contents: history, generationConfig: { maxOutputTokens: 16 } },
        targets: [{ model: name, window }],
      })
      const isOver = turn.load.count.tokens >= window * 0.65 || turn.report.newEpoch !== undefined
      expect(isOver, name).toBe(reduces)
    }
  })
})
