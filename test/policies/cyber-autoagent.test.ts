import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { cyberAutoagent } from '../../src/engine/presets/index.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { brokenPairs, call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

const ROOM = 2_000_000
const talk = (count: number, length = 40): Content[] =>
  Array.from({ length: count }, (_, n) =>
    n % 2 === 0 ? user(`q${n} ${chars(length)}`) : model(`a${n} ${chars(length)}`),
  )
const withWindow = (window: number, last = 5, more: Record<string, string> = {}): Policy =>
  cyberAutoagent({ CYBER_CONVERSATION_WINDOW: String(window), CYBER_CONVERSATION_PRESERVE_LAST: String(last), ...more })

describe('layer 2, the window', () => {
  it.each([10, 30, 60, 100])('a window of %i holds with 1.5 times as many messages', async (window) => {
    const history = talk(Math.floor(window * 1.5) | 1)
    const { contents, report } = await presetSession(withWindow(window), ROOM).prepare(history)
    expect(report.newEpoch).toBeDefined()
    expect(contents.length).toBeLessThanOrEqual(window)
    expect(contents[0]).toEqual(history[0])
    expect(contents.at(-1)).toEqual(history.at(-1))
  })

  it('acts at exactly the window, and goes down to 90 %', async () => {
    const { contents } = await presetSession(withWindow(11), ROOM).prepare(talk(11))
    expect(contents.length).toBeLessThan(11)
  })

  it('keeps the newest markers', async () => {
    const history = [...talk(99), user('marker 99')]
    const { text } = await presetSession(withWindow(30, 10), ROOM).prepare([
      ...history.slice(0, 98),
      model('marker 98'),
      history[99]!,
    ])
    expect(text).toContain('marker 98')
    expect(text).toContain('marker 99')
  })

  it('stays within the window through 200 steps and never splits a pair', async () => {
    const preset = presetSession(withWindow(50, 10), ROOM)
    const history: Content[] = [user('Assess the target.')]
    for (let batch = 0; batch < 20; batch++) {
      for (let n = 0; n < 10; n++) {
        const id = `c${batch}_${n}`
        history.push(call(id, 'nmap'), result(id, chars(5_000), 'nmap'))
      }
      const { contents } = await preset.prepare(history)
      expect(contents.length).toBeLessThanOrEqual(50)
      expect(brokenPairs(contents)).toEqual([])
      history.push(model(`Batch ${batch} done.`), user('Go on.'))
    }
  })

  it.each([
    [10, 13],
    [6, 12],
    [8, 12],
  ])('window %i, %i messages of pairs: no result without its call', async (window, messages) => {
    const pairs = Array.from({ length: messages }, (_, n) => [call(`c${n}`), result(`c${n}`, 'ok')]).flat()
    const { contents } = await presetSession(withWindow(Math.max(10, window), 2), ROOM).prepare([user('Go.'), ...pairs])
    expect(brokenPairs(contents)).toEqual([])
  })

  it('leaves a small conversation alone', async () => {
    expect((await presetSession(withWindow(100, 12), ROOM).prepare(talk(3))).report.untouched).toBe(true)
  })

  it.each([
    [0, 5, 50],
    [1, 10, 50],
    [2, 15, 50],
    [5, 15, 20],
  ])('zones of %i and %i in a window of %i take at most half of it', (first, last, window) => {
    const policy = withWindow(window, last, { CYBER_CONVERSATION_PRESERVE_FIRST: String(first) })
    expect(policy.cascade.find(({ step }) => step === 'window')).toMatchObject({
      preserveFirst: first,
      preserveLast: last,
      cap: { share: 0.5, window },
    })
  })
})

describe('layer 1, compression', () => {
  const session = () => presetSession(withWindow(12, 2, { CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD: '1000000' }), ROOM)
  const history = (text: string): Content[] => [
    user('Go.'),
    call('c1'),
    result('c1', text),
    ...talk(7).slice(1),
    user('Next.'),
  ]

  it('runs from 70 % of the window’s messages on, before the tokens matter', async () => {
    const preset = session()
    expect((await preset.prepare(history(chars(10_000)).slice(0, 5).concat(user('x')))).report.newEpoch).toBeUndefined()
    const { report, contents } = await preset.prepare(history(chars(10_000)))
    expect(report.newEpoch).toBeDefined()
    expect(textOf(contents[2]!)).toMatch(/^\[compressed tool result: original size 10000 chars, threshold 10000\]/)
    expect(textOf(contents[2]!)).toMatch(/\.\.\. \[truncated from 10000 chars\][^]*\[complete: art_/)
  })

  it('samples the first keys of an object', async () => {
    const json = JSON.stringify(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`key${n}`, chars(300)])))
    const { contents } = await session().prepare(history(json))
    expect(textOf(contents[2]!)).toContain('[compressed JSON: 40 keys')
    expect(textOf(contents[2]!)).toContain('"_n_original_keys":40')
  })

  it('leaves results below the threshold and inside the zones alone', async () => {
    const small = await session().prepare(history(chars(9_000)))
    expect(textOf(small.contents[2]!)).toBe(chars(9_000))
    const recent = [...talk(7), call('c1'), result('c1', chars(12_000))]
    expect(textOf((await session().prepare(recent)).contents.at(-1)!)).toBe(chars(12_000))
  })
})

describe('layer 0, artifacts', () => {
  it('shows the first 10,000 characters between header and footer, the rest behind the handle', async () => {
    const preset = presetSession(cyberAutoagent(), ROOM)
    const output = chars(125_432, 'scan')
    const { contents, report } = await preset.prepare([user('Go.'), call('c1', 'nmap'), result('c1', output, 'nmap')])
    const shown = textOf(contents[2]!)
    expect(shown).toMatch(/^\[Tool output: 125,432 chars total \| Preview: 10,000 chars below \| Full: art_/)
    expect(shown).toMatch(/\[Complete output saved to: art_[^\]]+\]$/)
    const { handle } = report.shortened[0]!
    expect(Buffer.from((await preset.plimsoll.artifacts.read(handle))!).toString()).toBe(output)
  })
})

describe('the budget', () => {
  const limit = (window: number) => ({
    window,
    tokens: window * 0.98,
    buffer: 0,
    outputReserve: 0,
    bytes: 1e9,
    source: 'config' as const,
  })

  it('starts at 65 % of the window, at 75 % with a warm cache, never above 98 %', () => {
    expect(highWater(cyberAutoagent(), limit(200_000))).toBe(130_000)
    expect(highWater(cyberAutoagent(), limit(200_000), true)).toBe(150_000)
    const high = cyberAutoagent({ CYBER_PROMPT_TELEMETRY_THRESHOLD: '0.95', CYBER_PROMPT_CACHE_RELAX: '0.3' })
    expect(highWater(high, limit(200_000), true)).toBe(196_000)
  })

  it.each([
    ['20,000 tokens with two texts of 4,000 characters', 20_000, 4_000, 3, true],
    ['100,000 tokens with short ones', 100_000, 100, 3, false],
    ['50,000 tokens with 100 characters', 50_000, 100, 1, false],
  ])('%s: reduces %s', async (_, window, length, messages, reduces) => {
    const preset = presetSession(cyberAutoagent(), window)
    const { report, load } = await preset.prepare(talk(messages, length))
    expect(load.count.tokens >= window * 0.65 || report.newEpoch !== undefined).toBe(reduces)
  })

  it('writes the log lines that its users grep for', async () => {
    const preset = presetSession(cyberAutoagent(), 100_000)
    await preset.prepare(talk(61, 6_000))
    const lines = preset.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
    expect(lines).toContainEqual(expect.stringMatching(/^THRESHOLD EXCEEDED: context=\d+, threshold=65000$/))
    expect(lines).toContainEqual(expect.stringMatching(/^Context reduced via \w+ manager: messages 61->\d+$/))
  })

  it('summarises the oldest 30 % of what the window left', async () => {
    const { contents, report } = await presetSession(cyberAutoagent(), 32_000).prepare(talk(221, 1_200))
    expect(report.newEpoch).toBeDefined()
    // 100 messages, of them 90 % by the window; a third of those into the summary.
    expect(contents.length).toBeLessThanOrEqual(68)
    expect(contents.length).toBeGreaterThan(40)
  })

  it('squeezes from what was compressed before, instead of showing more of it again', async () => {
    const policy = cyberAutoagent()
    const steps = ['compress-results', 'squeeze']
    const cascade = policy.cascade.filter(({ step }) => steps.includes(step))
    const history = [
      user('Write the report.'),
      call('big', 'write', { text: chars(90_000) }),
      result('big', 'Written.', 'write'),
      ...Array.from({ length: 30 }, (_, n) => [call(`c${n}`), result(`c${n}`, chars(2_400, `word${n}`))]).flat(),
    ]
    const { load, limit, report } = await presetSession({ ...policy, cascade }, 16_000).prepare(history)
    expect(report.newEpoch).toBeDefined()
    expect(load.count.high).toBeLessThanOrEqual(limit.tokens)
  })

  it('summarises the oldest 30 % first and keeps the newest', async () => {
    const prompts: string[] = []
    const preset = presetSession(cyberAutoagent(), 100_000, {
      summarizer: (prompt) => {
        prompts.push(prompt)
        return 'The oldest part, in short.'
      },
    })
    const history = talk(61, 5_000)
    const { contents } = await preset.prepare(history)
    expect(textOf(contents[1]!)).toContain('The oldest part, in short.')
    expect(contents.slice(-5)).toEqual(history.slice(-5))
    expect(prompts).toHaveLength(1)
  })
})
