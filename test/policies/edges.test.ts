import { describe, expect, it } from 'vitest'
import { costOfUsage } from '../../src/core/price.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { call, model, presetSession, result, textOf, user, type Content } from './session.ts'

/** Each number of the documents at its edge, through the shipped preset: what is just below behaves otherwise than what is just above. */

const prose = (length: number): string =>
  'The scan of the host went on and nothing new was found there this time. '
    .repeat(Math.ceil(length / 72))
    .slice(0, length)
/** So many messages with so many characters in all. */
const talk = (messages: number, characters: number): Content[] => {
  const each = Math.floor(characters / messages)
  return Array.from({ length: messages }, (_, n) => {
    const text = prose(n === 0 ? characters - each * (messages - 1) : each)
    return n % 2 === 0 ? user(text) : model(text)
  })
}
const isReduced = async (policy: string, window: number, history: readonly Content[], more = {}): Promise<boolean> =>
  (await presetSession(policy, window, more).prepare(history)).report.newEpoch !== undefined
const shown = async (policy: string, output: string, tool = 'some_tool', window = 1_000_000) => {
  const { plimsoll } = presetSession(policy, window)
  const session = plimsoll.session({ id: 't' })
  return session.toolResult({ tool, callId: 'c', output, model: 'gemini-2.5-flash', window })
}
const priceOf = (policy: string, id: string) =>
  costOfUsage(
    { input: 1_000_000, output: 1_000_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    policyNamed(policy, {}).prices![id]!,
  )

describe('autosre', () => {
  it.each([
    [24_000, false],
    [24_001, true],
  ])('%i tokens by characters / 4: the window moves: %s', async (tokens, moves) => {
    expect(await isReduced('autosre', 1_000_000, talk(13, tokens * 4))).toBe(moves)
  })
  it.each([
    [9, false],
    [10, true],
  ])('%i events: the window moves: %s', async (events, moves) => {
    expect(await isReduced('autosre', 1_000_000, talk(events, 100_000))).toBe(moves)
  })
  it('keeps the last 5 events in full', async () => {
    const history = talk(21, 100_000)
    const { contents } = await presetSession('autosre', 1_000_000).prepare(history)
    expect(contents.slice(-5)).toEqual(history.slice(-5))
    expect(contents).toHaveLength(1 + 1 + 5)
  })
  it.each([
    [50, false],
    [51, true],
  ])('%i items are large: %s', async (count, large) => {
    expect((await shown('autosre', JSON.stringify(Array.from({ length: count }, () => prose(60))))).truncated).toBe(
      large,
    )
  })
  it.each([
    [99_998, false],
    [99_999, true],
  ])('a text of %i characters, written as JSON with its quotes, is large: %s', async (size, large) => {
    const output = JSON.stringify({ text: 'x'.repeat(size - 9) })
    expect(output.length).toBe(size + 2)
    expect((await shown('autosre', output)).truncated).toBe(large)
  })
  it('prices Flash and Pro as documented', () => {
    expect(priceOf('autosre', 'gemini-2.5-flash')).toBeCloseTo(0.75, 6)
    expect(priceOf('autosre', 'gemini-2.5-pro')).toBeCloseTo(11.25, 6)
    expect(policyNamed('autosre', {}).prices!['gemini-2.5-flash']).toMatchObject({ input: 0.15, output: 0.6 })
    expect(policyNamed('autosre', {}).prices!['gemini-2.5-pro']).toMatchObject({ input: 1.25, output: 10 })
  })
})

describe('cyber-autoagent', () => {
  /** 11,000 + 50 per message + characters / 4.2. */
  it.each([
    [64_999, false],
    [65_000, true],
  ])('an estimate of %i in a window of 100,000 reduces: %s', async (tokens, reduces) => {
    const history = talk(41, Math.ceil((tokens - 11_000 - 41 * 50) * 4.2))
    expect(await isReduced('cyber-autoagent', 100_000, history)).toBe(reduces)
  })
  it.each([
    [99, false],
    [100, true],
  ])('%i messages move the window: %s', async (messages, moves) => {
    expect(await isReduced('cyber-autoagent', 2_000_000, talk(messages, 9_000))).toBe(moves)
  })
  it('goes down to 90', async () => {
    expect((await presetSession('cyber-autoagent', 2_000_000).prepare(talk(101, 9_000))).contents).toHaveLength(90)
  })
  it.each([
    [10_000, false],
    // A view that is longer than what it stands for is no gain, and is not shown.
    [11_500, true],
  ])('an output of %i characters becomes an artifact: %s', async (size, stored) => {
    expect((await shown('cyber-autoagent', prose(size))).truncated).toBe(stored)
  })
  it('shows the first 10,000 of it', async () => {
    const { text } = await shown('cyber-autoagent', prose(40_000))
    expect(text).toContain('40,000 chars total | Preview: 10,000 chars below')
  })
  const old = async (size: number) => {
    const history = [
      user('Go.'),
      call('a'),
      result('a', prose(size)),
      ...Array.from({ length: 40 }, (_, n) => [call(`c${n}`), result(`c${n}`, 'ok')]).flat(),
    ]
    const policy = { ...policyNamed('cyber-autoagent', {}), intake: { maxShare: 1, previewShare: 1 } }
    return textOf((await presetSession(policy, 2_000_000).prepare(history)).contents[2]!)
  }
  it('compresses an old result from 10,000 characters on, to 8,000', async () => {
    expect(await old(9_999)).toBe(prose(9_999))
    expect(await old(10_000)).toContain(`${prose(8_000)}... [truncated from 10000 chars]`)
  })
  it.each([
    [69, false],
    [70, true],
  ])('layer 1 runs from %i messages on: %s', async (messages, runs) => {
    const rest = messages - 3
    const history = [
      user('Go.'),
      call('a'),
      result('a', prose(12_000)),
      ...Array.from({ length: rest }, (_, n) => (n % 2 === 0 ? model('ok') : user('on'))),
    ]
    const policy = { ...policyNamed('cyber-autoagent', {}), intake: { maxShare: 1, previewShare: 1 } }
    const { report } = await presetSession(policy, 2_000_000).prepare(history)
    expect(report.newEpoch !== undefined).toBe(runs)
  })
})

describe('contextguard', () => {
  /** The factor is 2.5 until usage is known: bytes / 4 × 2.5 against the line. */
  it.each([
    [200_000, 71_999, false],
    [200_000, 72_000, true],
    [199_999, 63_999, false],
    [199_999, 64_000, true],
    [1_000_000, 391_999, false],
    [1_000_000, 392_000, true],
  ])('in a window of %i, %i by bytes / 4 is at the line: %s', async (window, raw, compacts) => {
    expect(await isReduced('contextguard', window, talk(4, raw * 4))).toBe(compacts)
  })
})

describe('adk-code', () => {
  it.each([
    [70_000, false],
    [70_001, true],
  ])('%i tokens by bytes / 4 in a window of 100,000 are compacted: %s', async (tokens, compacts) => {
    const history = [
      ...talk(1, tokens * 4 - 19 * 4_000),
      ...Array.from({ length: 19 }, (_, n) => (n % 2 === 0 ? model(prose(4_000)) : user(prose(4_000)))),
    ]
    expect(await isReduced('adk-code', 100_000, history)).toBe(compacts)
  })
  it('keeps the last 10 in full', async () => {
    const small = Array.from({ length: 39 }, (_, n) => (n % 2 === 0 ? user('Go on.') : model(prose(1_200))))
    const history = [user('Read it.'), model(prose(290_000)), ...small]
    const { contents } = await presetSession('adk-code', 100_000).prepare(history)
    expect(contents.slice(-10)).toEqual(history.slice(-10))
    expect(contents).toHaveLength(1 + 1 + 10)
  })
  it.each([
    [256, false],
    [270, true],
  ])('%i lines are cut: %s', async (lines, cut) => {
    const output = Array.from({ length: lines }, (_, n) => `line ${n} of it`).join('\n')
    expect((await shown('adk-code', output)).truncated).toBe(cut)
  })
  it.each([
    [10_240, false],
    [10_400, true],
  ])('%i bytes are cut: %s', async (bytes, cut) => {
    expect((await shown('adk-code', prose(bytes))).truncated).toBe(cut)
  })
  it('nothing above 95 % leaves, on a wire whose window does not hold the answer either', async () => {
    const { plimsoll } = presetSession('adk-code', 100_000)
    const turn = await plimsoll
      .session({ id: 'g' })
      .prepare({ format: 'gemini', body: { contents: [user('Hi.')] }, targets: [{ model: 'gemini-2.5-flash' }] })
    expect(turn.limit.tokens).toBeLessThanOrEqual(Math.floor(turn.limit.window * 0.95))
  })
  it('prices as documented', () => {
    expect(policyNamed('adk-code', {}).prices!['gemini-2.5-flash']).toEqual({ input: 0.075, output: 0.3 })
  })
})

describe('ai-agent', () => {
  const limitOf = async (id: string, window?: number) => {
    const { plimsoll } = presetSession('ai-agent', 100_000)
    const { limit } = await plimsoll.session({ id: 'x' }).prepare({
      format: 'openai-chat',
      body: { model: id, messages: [{ role: 'user', content: 'hi' }] },
      targets: [{ model: id, ...(window !== undefined && { window }) }],
    })
    return [limit.window, limit.buffer, limit.outputReserve]
  }
  it('131,072, 8,192 and a quarter where nothing is configured', async () => {
    expect(await limitOf('nobody-knows')).toEqual([131_072, 8_192, 32_768])
    expect(await limitOf('nobody-knows', 128_000)).toEqual([128_000, 8_192, 32_000])
  })
  it.each([
    [12_288, false],
    [12_450, true],
  ])('an output of %i bytes becomes a handle: %s', async (bytes, stored) => {
    expect((await shown('ai-agent', prose(bytes))).truncated).toBe(stored)
  })
})
