import { describe, expect, it } from 'vitest'
import { contextguardHeuristic } from '../../src/engine/presets/contextguard/estimate.ts'
import { contextguard, contextguardWindow, slidingWindow } from '../../src/engine/presets/index.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { codecs } from '../../src/formats/registry.ts'
import { coding, kube, mixed, storm } from './generators.ts'
import { brokenPairs, call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

/** Rows of the design's own tables beside its scenarios: single shots, investigation runs, units. */

const K = 1_000
const limitOf = (window: number) => ({
  window,
  tokens: window,
  buffer: 0,
  outputReserve: 0,
  bytes: Infinity,
  source: 'config' as const,
})
const heuristicOf = (contents: readonly Content[]): number =>
  contextguardHeuristic(codecs.get('gemini')!.decode(JSON.stringify({ contents })))
const answering = (answer: string) => {
  const seen: string[] = []
  const summarizer = {
    name: 'test',
    window: 1_000_000,
    summarise: async ({ prompt }: { prompt: string }) => {
      seen.push(prompt)
      return { text: answer, stop: 'end' as const }
    },
  }
  return { seen, summarizer }
}

const SINGLE_SHOTS = [
  { name: 'kube 3', history: kube(3), windows: [4 * K, 8 * K, 32 * K, 128 * K], turns: [] },
  { name: 'kube 10', history: kube(10), windows: [32 * K, 128 * K, 200 * K, 1_000 * K], turns: [20, 40] },
  { name: 'kube 30', history: kube(30), windows: [32 * K, 128 * K, 200 * K], turns: [20, 50] },
  { name: 'kube 50', history: kube(50), windows: [32 * K, 128 * K], turns: [20, 40] },
  { name: 'mixed', history: mixed(), windows: [4 * K, 8 * K, 32 * K, 128 * K], turns: [10, 20] },
  { name: 'storm 20×2,000', history: storm(20, 2_000), windows: [4 * K, 8 * K, 32 * K], turns: [] },
  { name: 'storm 50×5,000', history: storm(50, 5_000), windows: [32 * K, 128 * K, 200 * K], turns: [10, 30] },
  { name: 'storm 100×10,000', history: storm(100, 10_000), windows: [32 * K, 128 * K, 1_000 * K], turns: [10, 50] },
  { name: 'coding 15', history: coding(15), windows: [4 * K, 8 * K, 32 * K, 128 * K], turns: [10, 30] },
]

describe('single shots', () => {
  it('are as large as the design says', () => {
    expect(kube(1)).toHaveLength(8)
    expect(Math.abs(heuristicOf(kube(1)) - 8_042)).toBeLessThan(100)
    expect(heuristicOf(storm(20, 2_000))).toBe(20 * (48 + 503))
    expect(mixed()).toHaveLength(27)
    expect(coding(1)).toHaveLength(10)
  })

  it.each(SINGLE_SHOTS.flatMap((row) => row.windows.map((window) => ({ ...row, window }))))(
    '$name in $window: above the line it is summarised, and then something old is gone',
    async ({ history, window }) => {
      const asked = [user('Start.'), ...history, user('What now?')]
      const { report, contents, load } = await presetSession(contextguard, window).prepare(asked)
      const isOver = report.loadBefore >= highWater(contextguard, limitOf(window))
      expect(report.newEpoch !== undefined).toBe(isOver)
      if (heuristicOf(asked) > highWater(contextguard, limitOf(window))) expect(isOver).toBe(true)
      if (isOver) expect(contents.length).toBeLessThan(asked.length)
      expect(brokenPairs(contents)).toEqual([])
      expect(load.count.high).toBeLessThan(window)
    },
  )

  it.each(SINGLE_SHOTS.flatMap((row) => row.turns.map((maxTurns) => ({ ...row, maxTurns }))))(
    '$name, sliding over $maxTurns: more messages than that are summarised, and the newest stay',
    async ({ history, maxTurns }) => {
      const asked = [user('Start.'), ...history, user('What now?')]
      const { report, contents } = await presetSession(slidingWindow(maxTurns), 10_000 * K).prepare(asked)
      expect(report.newEpoch !== undefined).toBe(asked.length > maxTurns)
      if (asked.length <= maxTurns) return
      expect(contents.length).toBeLessThanOrEqual(maxTurns)
      expect(contents.slice(-3)).toEqual(asked.slice(-3))
      expect(brokenPairs(contents)).toEqual([])
    },
  )
})

describe('investigation runs', () => {
  it.each([1, 2, 3, 5, 10, 20])(
    '%i passes over answers that never fit are so many calls, and it fits',
    async (passes) => {
      const { seen, summarizer } = answering(chars(60_000, 'huge'))
      const { load } = await presetSession({ ...contextguard, passes }, 8 * K, { summarizer }).prepare([
        ...kube(3),
        user('What now?'),
      ])
      expect(seen).toHaveLength(passes)
      expect(load.count.high).toBeLessThan(8 * K)
    },
  )

  const sizes = (window: number, list: readonly number[]) => list.map((size) => ({ window, size }))
  it.each([
    ...sizes(8 * K, [500, 2 * K, 10 * K, 50 * K, 200 * K]),
    ...sizes(128 * K, [5 * K, 20 * K, 100 * K, 500 * K]),
  ])('10 pairs of $size characters in $window fit, the newest pair as preview + handle where it must', async (row) => {
    const asked = [user('Start.'), ...storm(10, row.size)]
    const { contents, load } = await presetSession(contextguard, row.window).prepare(asked)
    expect(load.count.high).toBeLessThan(row.window)
    expect(brokenPairs(contents)).toEqual([])
    if (row.size / 4 > row.window) expect(textOf(contents.at(-1)!)).toMatch(/art_[0-9a-z]{26}/)
  })

  it.each([
    ...sizes(8 * K, [10 * K, 50 * K, 200 * K, 1_000 * K]),
    ...sizes(128 * K, [10 * K, 50 * K, 200 * K, 1_000 * K]),
  ])('one result of $size characters in $window fits', async ({ window, size }) => {
    const { load, contents } = await presetSession(contextguard, window).prepare([user('Go.'), ...storm(1, size)])
    expect(load.count.high).toBeLessThan(window)
    expect(contents.at(-2)).toEqual(storm(1, 1)[0])
  })
})

describe('units', () => {
  it('a short request after a large measured one is compacted', async () => {
    const preset = presetSession(contextguard, 128_000)
    const history: Content[] = [user(chars(80_000)), model(chars(80_000)), user('And now?')]
    await preset.usage(await preset.prepare(history), 110_000)
    const { report } = await preset.prepare([...history, model('So.'), user('More.')])
    expect(report.newEpoch).toBeDefined()
  })

  it('a large result after the last measure is counted with its ratio: 100,000 of 50,000, then 400,000 characters', async () => {
    const preset = presetSession(contextguard, 200_000)
    const history: Content[] = [user(chars(200_000))]
    const first = await preset.prepare(history)
    expect(first.report.newEpoch).toBeUndefined()
    await preset.usage(first, 100_000)
    const { report } = await preset.prepare([...history, call('c'), result('c', chars(400_000))])
    expect(report.loadBefore).toBeGreaterThan(290_000)
    expect(report.newEpoch).toBeDefined()
  })

  it('an agent’s own window decides over the target’s', async () => {
    const history = [user(chars(1_200)), model(chars(400)), user('Next?')]
    const preset = presetSession(contextguard, 100_000)
    expect((await preset.prepare(history)).report.newEpoch).toBeUndefined()
    const narrow = presetSession(contextguard, 500)
    const { contents } = await narrow.prepare(history)
    expect(contents).toHaveLength(2)
  })

  it('only the prompt is believed, not prompt and answer together', async () => {
    const run = async (output: number) => {
      const preset = presetSession(contextguard, 150_000)
      const session = preset.plimsoll.session({ id: 's' })
      const history = [user(chars(160_000)), model('So.'), user('More.')]
      const turn = await preset.prepare(history)
      const usage = { input: 118_000, cacheRead: 0, cacheWrite: 0, output, reasoning: 0 }
      await session.record({ turn: turn.id, usage })
      return (await preset.prepare([...history, model('Ok.'), user('Go.')])).report.newEpoch
    }
    expect(await run(5_000)).toBeUndefined()
    expect(await run(0)).toBeUndefined()
  })

  it('zero counts and missing usage teach nothing', async () => {
    const preset = presetSession(contextguard, 1_000)
    const history = [user(chars(1_200))]
    const turn = await preset.prepare(history)
    await preset.usage(turn, 0)
    const { load } = await preset.prepare(history)
    expect(load.count.tokens).toBe(turn.load.count.tokens)
  })

  it('an empty history is left alone', async () => {
    expect((await presetSession(contextguard, 1_000).prepare([])).report.untouched).toBe(true)
  })

  it('a summary stands once, however often the same history comes', async () => {
    const preset = presetSession(contextguard, 1_000)
    const history = [user(chars(4_000)), model(chars(3_000)), user('Next?')]
    const first = await preset.prepare(history)
    const again = await preset.prepare(history)
    expect(again.text).toBe(first.text)
    expect(again.contents.filter((content) => textOf(content).includes('Previous conversation summary'))).toHaveLength(
      1,
    )
  })

  it('a later summary is written from the archive, with todos under their own heading', async () => {
    const { seen, summarizer } = answering('First lorem.')
    const preset = presetSession(contextguard, 4_000, { summarizer })
    const todos = [
      { content: 'write tests', status: 'pending' },
      { content: 'fix lexer', status: 'completed' },
    ]
    const history: Content[] = [
      user(`alpha ${chars(1_000)}`),
      call('t', 'todo_write', { todos }),
      result('t', 'ok', 'todo_write'),
      model(chars(4_000)),
      user('Next?'),
    ]
    await preset.prepare(history)
    await preset.prepare([...history, model(`gamma ${chars(5_000)}`), user('And?')])
    expect(seen).toHaveLength(2)
    for (const prompt of seen) {
      expect(prompt).toMatch(/todo list, to be kept under its own heading[^]*write tests[^]*fix lexer/)
      expect(prompt).toContain('alpha')
      expect(prompt).not.toContain('First lorem.')
    }
    expect(seen[1]).toContain('gamma')
  })

  it('excerpts of a later compaction cover all of it again', async () => {
    const preset = presetSession(contextguard, 4_000)
    const history: Content[] = [user(`alpha ${chars(9_000)}`), model(`beta ${chars(9_000)}`), user('Next?')]
    await preset.prepare(history)
    const { contents } = await preset.prepare([...history, model(`gamma ${chars(9_000)}`), user('And?')])
    for (const word of ['alpha', 'gamma']) expect(textOf(contents[0]!)).toContain(word)
  })

  it('agents of one session have their own summaries', async () => {
    const preset = presetSession(contextguard, 1_000)
    const history = [user(chars(4_000)), model(chars(3_000)), user('Next?')]
    await preset.prepare(history)
    const other = preset.plimsoll.session({ id: 's', agent: 'other' })
    const turn = await other.prepare({
      format: 'gemini',
      body: { contents: [user('Hello.')], generationConfig: { maxOutputTokens: 16 } },
      targets: [{ model: 'test-model', window: 1_000 }],
    })
    expect(turn.report.untouched).toBe(true)
  })
})

describe('the sliding window', () => {
  const talk = (count: number): Content[] =>
    Array.from({ length: count }, (_, n) => (n % 2 === 0 ? user(`question ${n}`) : model(`answer ${n} ${chars(80)}`)))

  it('leaves 20 messages alone and compacts the 21st, with the newest kept whole', async () => {
    const preset = presetSession(contextguardWindow, 100_000)
    expect((await preset.prepare(talk(19))).report.newEpoch).toBeUndefined()
    const { contents, report } = await preset.prepare(talk(21))
    expect(report.newEpoch).toBeDefined()
    expect(contents.slice(-6)).toEqual(talk(21).slice(-6))
    expect(contents.length).toBeLessThan(10)
  })

  it.each([
    { name: '10 messages at 50', maxTurns: 50, seen: 0, count: 11, compacts: false },
    { name: '40 messages at 5', maxTurns: 5, seen: 0, count: 41, compacts: true },
    { name: '35 of 40 already behind the watermark, at 10', maxTurns: 10, seen: 35, count: 41, compacts: false },
  ])('$name: compacts $compacts', async ({ maxTurns, seen, count, compacts }) => {
    const preset = presetSession(slidingWindow(maxTurns), 100_000)
    if (seen > 0) expect((await preset.prepare(talk(seen))).report.newEpoch).toBeDefined()
    const { report, contents } = await preset.prepare(talk(count))
    expect(report.newEpoch !== undefined).toBe(compacts)
    expect(contents.at(-1)).toEqual(talk(count).at(-1))
  })

  it('loses nothing of the kept tail on the next call', async () => {
    const preset = presetSession(contextguardWindow, 100_000)
    await preset.prepare(talk(21))
    const { contents } = await preset.prepare(talk(23))
    expect(contents.slice(-8)).toEqual(talk(23).slice(-8))
  })

  it.each([5, 20])('at %i never splits a pair, also where there is nothing but pairs', async (maxTurns) => {
    const pairs = storm(20, 60)
    const { contents, report } = await presetSession(slidingWindow(maxTurns), 100_000).prepare([user('Go.'), ...pairs])
    expect(report.newEpoch).toBeDefined()
    expect(brokenPairs(contents)).toEqual([])
    expect(contents.slice(-2)).toEqual(pairs.slice(-2))
  })

  it('asks exactly as often as set where the answer never fits, and still fits', async () => {
    const { seen, summarizer } = answering(chars(20_000, 'huge'))
    const policy = { ...slidingWindow(20), passes: 5 }
    const { load } = await presetSession(policy, 500, { summarizer }).prepare(talk(31))
    expect(seen).toHaveLength(5)
    expect(load.count.high).toBeLessThan(500)
  })

  it('writes excerpts where the summarizer fails', async () => {
    const summarizer = {
      name: 'down',
      window: 100_000,
      summarise: async (): Promise<never> => {
        throw new Error('down')
      },
    }
    const { contents } = await presetSession(contextguardWindow, 100_000, { summarizer }).prepare(talk(31))
    expect(contents.map(textOf).join('\n')).toContain('assistant: answer 23 ')
  })
})
