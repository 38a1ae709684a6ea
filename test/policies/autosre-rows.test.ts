import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { autosre } from '../../src/engine/presets/index.ts'
import { call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

/** Rows of AutoSRE's own test table on histories and usage; those on payloads stand in intake-rows.test.ts and intake/guards. */

/** Budget 1,000, trigger 500, 3 recent, 5 at least, 4 characters per token. */
const small = (summaryTokens: number): Policy => ({
  ...autosre(),
  water: { ...autosre().water, highTokens: 500, lowTokens: 300 },
  cascade: autosre().cascade.map((step) =>
    step.step === 'summarise'
      ? { ...step, tail: 3, minimum: 5, maxTokens: summaryTokens }
      : step.step === 'squeeze-budget'
        ? { ...step, tokens: 1_000, minimum: 5 }
        : step,
  ),
})
const events = (count: number, length: number): Content[] =>
  Array.from({ length: count }, (_, n) => (n % 2 === 0 ? user : model)(`event ${n} ${chars(length)}`))
const outputs = (count: number, length: number): Content[] =>
  Array.from({ length: count }, (_, n) => [call(`c${n}`), result(`c${n}`, `output ${n} ${chars(length)}`)]).flat()

describe('the small compactor', () => {
  it.each([
    { name: 'no events', history: [], compacts: false },
    { name: '2 events', history: events(2, 20).slice(0, 1), compacts: false },
    { name: '20 tool outputs of 230 characters', history: [user('Go.'), ...outputs(20, 230)], compacts: true },
    { name: '5 short messages', history: events(5, 20), compacts: false },
    { name: '1 short message', history: events(1, 20), compacts: false },
    { name: '15 of 500 characters', history: events(15, 500), compacts: true },
    { name: '3 of 5,000 characters', history: events(3, 5_000), compacts: false },
  ])('$name: compacts $compacts', async ({ history, compacts }) => {
    const { report, contents, load } = await presetSession(small(400), 100_000).prepare(history)
    expect(report.newEpoch !== undefined).toBe(compacts)
    // Recent events stay whole and in their order; what is not compacted leaves as it came.
    expect(contents.slice(-3)).toEqual(history.slice(-3))
    if (!compacts) expect(report.untouched).toBe(true)
    else expect(load.count.tokens).toBeLessThanOrEqual(1_000)
  })

  it('an existing summary stands unchanged while little comes in', async () => {
    const preset = presetSession(small(2_000), 100_000)
    const history = events(15, 500)
    const before = await preset.prepare(history)
    const summary = before.contents.map(textOf).find((text) => text.includes('summary'))!
    const after = await preset.prepare([...history, model('Noted.'), user('Next.')])
    expect(after.contents.map(textOf)).toContain(summary)
  })

  it('a later summary tells of both parts', async () => {
    const preset = presetSession(small(2_000), 100_000)
    const history = events(11, 500)
    await preset.prepare(history)
    const { contents, report } = await preset.prepare([...history, ...events(31, 500).slice(11)])
    expect(report.newEpoch).toBeDefined()
    const summary = contents.map(textOf).find((text) => text.includes('summary'))!
    expect(summary).toContain('event 2 ')
    expect(summary).toContain('event 27 ')
  })
})

describe('the brake', () => {
  /** Results come in whole, so that what the brake sees is what the row says. */
  const brake: Policy = { ...autosre(), intake: { maxShare: 9, previewShare: 1 } }

  it('41 messages, one of 3,200,000 characters: 8 are left, and the notice says 34 turns', async () => {
    const giant = Array.from({ length: 32 }, (_, n) => `line ${n} ${chars(99_990)}`).join('\n')
    const history = [
      user('Start.'),
      ...Array.from({ length: 20 }, (_, n) => [call(`c${n}`), result(`c${n}`, n === 3 ? giant : 'ok')]).flat(),
    ]
    expect(history).toHaveLength(41)
    const { contents } = await presetSession(brake, 1_000_000).prepare(history)
    expect(contents).toHaveLength(8)
    expect(textOf(contents[1]!)).toContain('34 turns were compacted')
  })

  it('tells in bullets what was called, what came back, what was thought and what was asked', async () => {
    const log = JSON.stringify({ result: { entries: [{}, {}] } })
    const history = [
      user('Start.'),
      call('l', 'list_log_entries'),
      result('l', log, 'list_log_entries'),
      model('The database looks slow.'),
      user('Look at the pool.'),
      ...outputs(9, 240_000),
      model('Noted.'),
      user('Go on.'),
    ]
    const { contents } = await presetSession(
      { ...autosre(), intake: { maxShare: 9, previewShare: 1 } },
      1_000_000,
    ).prepare(history)
    const notice = textOf(contents[1]!)
    expect(notice).toMatch(/list_log_entries/)
    expect(notice).toMatch(/Retrieved 2 log entries/)
    expect(notice).toMatch(/Thought: The database looks slow\./)
    expect(notice).toMatch(/User: Look at the pool\./)
  })
})

describe('usage', () => {
  const spend = async (budget: string | undefined, calls: readonly number[]): Promise<string[]> => {
    const preset = presetSession(autosre(budget === undefined ? {} : { SRE_AGENT_TOKEN_BUDGET: budget }), 10_000_000)
    const kinds: string[] = []
    const history: Content[] = [user('Go.')]
    for (const tokens of [...calls, 0, 0]) {
      const turn = await preset.prepare(history, { generationConfig: { maxOutputTokens: 1_000 } })
      kinds.push(turn.verdict.kind)
      if (turn.verdict.kind === 'halt') break
      await preset.usage(turn, tokens)
      history.push(model('Ok.'), user('More.'))
    }
    return kinds
  }

  it.each([
    { name: '1,000: 100 + 50', budget: '1000', calls: [100, 50], last: 'proceed' },
    { name: '1,000: 600 + 500', budget: '1000', calls: [600, 500], last: 'final' },
    { name: '10,000: 5,000 + 6,000', budget: '10000', calls: [5_000, 6_000], last: 'final' },
    { name: '0 is no budget', budget: '0', calls: [999_999], last: 'proceed' },
    { name: 'no budget', budget: undefined, calls: [999_999], last: 'proceed' },
  ])('$name: then $last', async ({ budget, calls, last }) => {
    const after = (await spend(budget, calls)).slice(calls.length)
    expect(after).toEqual(last === 'final' ? ['final', 'halt'] : ['proceed', 'proceed'])
  })

  it('4 at a time, 100 calls of 10 tokens each: 400 calls and 4,000 tokens', async () => {
    const preset = presetSession(autosre(), 1_000_000)
    const agents = ['a', 'b', 'c', 'd']
    await Promise.all(
      agents.map(async (agent) => {
        const session = preset.plimsoll.session({ id: 'shared', agent })
        for (let n = 0; n < 100; n++) {
          const turn = await session.prepare({
            format: 'gemini',
            body: { contents: [user('Go.')], generationConfig: { maxOutputTokens: 16 } },
            targets: [{ model: 'gemini-2.5-flash', window: 1_000_000 }],
          })
          const usage = { input: 8, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 }
          await session.record({ turn: turn.id, usage })
        }
      }),
    )
    const { spent } = await preset.plimsoll.session({ id: 'shared', agent: 'a' }).status()
    expect(spent).toMatchObject({ calls: 400, usage: { input: 3_200, output: 800 } })
  })
})
