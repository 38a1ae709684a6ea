import { describe, expect, it } from 'vitest'
import { adkCode } from '../../src/engine/presets/index.ts'
import { brokenPairs, call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

const talk = (count: number, length: number): Content[] =>
  Array.from({ length: count }, (_, n) =>
    n % 2 === 0 ? user(`u${n} ${chars(length)}`) : model(`m${n} ${chars(length)}`),
  )

describe('output truncation', () => {
  const show = async (output: string) => {
    const preset = presetSession(adkCode(), 1_000_000)
    const { contents, report } = await preset.prepare([user('Go.'), call('c1'), result('c1', output)])
    return { shown: textOf(contents[2]!), report, preset }
  }

  it('keeps first and last line of 1,000 with the exact marker, and the whole behind a handle', async () => {
    const output = Array.from({ length: 1_000 }, (_, n) => `line ${n + 1}`).join('\n')
    const { shown, report, preset } = await show(output)
    expect(shown.split('\n').length).toBeLessThan(260)
    expect(shown).toMatch(/^line 1\n/)
    expect(shown).toContain('\nline 1000\n')
    expect(shown).toMatch(/\[\.\.\. omitted 7\d\d of 1,000 lines \.\.\.\]/)
    const bytes = await preset.plimsoll.artifacts.read(report.shortened[0]!.handle)
    expect(Buffer.from(bytes!).toString()).toBe(output)
  })

  it.each([
    ['10,000 lines of 77 characters', Array.from({ length: 10_000 }, () => chars(77)).join('\n')],
    ['one line of 500 kB', 'x'.repeat(500_000)],
  ])('stays within 10 KiB for %s', async (_, output) => {
    expect(Buffer.byteLength((await show(output)).shown)).toBeLessThanOrEqual(10_240)
  })

  it('leaves a small output alone', async () => {
    expect((await show('two\nlines')).shown).toBe('two\nlines')
  })

  it('has one audit entry per truncation', async () => {
    const { preset } = await show(chars(50_000))
    const session = preset.plimsoll.session({ id: 's' })
    const cuts = (await session.audit()).filter((entry) => entry.type === 'audit')
    expect(cuts).toEqual([expect.objectContaining({ action: 'first-send', originalBytes: 50_000 })])
  })
})

describe('compaction', () => {
  it('starts strictly above 70 % of the window', async () => {
    // Bytes / 4 by the design: 2,800 characters are 700 of 1,000.
    const at = (length: number): Content[] => [user(chars(length - 800)), model(chars(400)), user(chars(400))]
    const big = (length: number) => presetSession(adkCode(), 100_000).prepare([...talk(20, 10), ...at(length)])
    expect((await big(270_000)).report.newEpoch).toBeUndefined()
    expect((await big(284_000)).report.newEpoch).toBeDefined()
  })

  it('sees that one item of 750 tokens is above the line of a window of 1,000, and makes room', async () => {
    const history = [user('Read it.'), model(chars(3_000)), user('And?')]
    const preset = presetSession(adkCode(), 1_000)
    const { report, load, limit } = await preset.prepare(history)
    expect(report.newEpoch).toBeDefined()
    expect(load.count.tokens).toBeLessThan(700)
    expect(limit.tokens).toBe(900)
  })

  it('says how many messages there were where no model can tell what the user wants', async () => {
    const { contents } = await presetSession(adkCode(), 20_000).prepare([...talk(30, 3_000), ...talk(11, 60)])
    expect(textOf(contents[1]!)).toMatch(/The conversation so far had \d+ user messages\./)
  })

  it('leaves an empty conversation alone', async () => {
    expect((await presetSession(adkCode(), 1_000).prepare([])).report.untouched).toBe(true)
  })

  it('turns 50K into less than 5K where the last 10 messages are small', async () => {
    const history = [...talk(40, 5_300), ...talk(11, 200)]
    const preset = presetSession(adkCode(), 70_000, {
      summarizer: () => 'The user wants lorem fixed.',
    })
    const { report, contents, load } = await preset.prepare(history)
    expect(history.map(textOf).join('').length / 4).toBeGreaterThan(50_000)
    expect(report.newEpoch).toBeDefined()
    expect(load.count.tokens).toBeLessThan(5_000)
    expect(contents.slice(-10)).toEqual(history.slice(-10))
    expect(contents[0]).toEqual(history[0])
    expect(textOf(contents[1]!)).toContain('The user wants lorem fixed.')
  })

  it('lets the last 10 win up to low water and makes the largest of them handles', async () => {
    const pairs = Array.from({ length: 30 }, (_, n) => [call(`c${n}`), result(`c${n}`, chars(9_500))]).flat()
    const { contents, load, limit } = await presetSession(adkCode(), 90_000).prepare([user('Fix it.'), ...pairs])
    expect(load.count.high).toBeLessThan(limit.window * 0.2)
    expect(brokenPairs(contents)).toEqual([])
    expect(contents.map(textOf).join('\n')).toMatch(/art_[0-9a-z]{26}/)
  })

  it('goes through 50 turns without a crash', async () => {
    const preset = presetSession(adkCode(), 20_000)
    const history: Content[] = []
    for (let turn = 0; turn < 50; turn++) {
      history.push(user(`Turn ${turn}: ${chars(400)}`), call(`c${turn}`), result(`c${turn}`, chars(3_000)))
      const { contents, load, limit } = await preset.prepare(history)
      expect(load.count.high).toBeLessThanOrEqual(limit.tokens)
      expect(brokenPairs(contents)).toEqual([])
      history.push(model(chars(300)))
    }
  })

  it('has a window of a million where the model is unknown', async () => {
    const session = presetSession(adkCode(), 1).plimsoll.session({ id: 'x' })
    const turn = await session.prepare({
      format: 'gemini',
      body: { contents: [user('Hello there.')] },
      targets: [{ model: 'nobody-knows' }],
    })
    expect(turn.limit).toMatchObject({ window: 1_000_000, outputReserve: 100_000, tokens: 900_000 })
    expect(turn.load.count.tokens).toBeGreaterThan(0)
  })
})
