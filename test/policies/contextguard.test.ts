import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { contextguard } from '../../src/engine/presets/index.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { scenarios, simulate } from '../../src/lab/simulator/simulate.ts'
import { referenceRun } from '../simulator/reference-run.ts'
import { brokenPairs, call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

/** Ten-megabyte sessions and hundreds of calls; `PLIMSOLL_LONG=1` runs these too. */
const isLong = (name: string): boolean => /^1M_|200k_200Turns|DeepRefactor|100Turns|LongSession/.test(name)
const rows = scenarios.filter(({ name }) => process.env['PLIMSOLL_LONG'] === '1' || !isLong(name))

/** Instructions alone are above the line: each request is compacted, by code, as designed. */
const OVERHEAD = new Set(['CompactionNoInfiniteLoop', '8k_SystemPromptLargerThanWindow'])

describe('contextguard on its own scenarios', () => {
  it.each(rows)('$name holds as shipped', async (scenario) => {
    const shipped = await simulate(scenario, { policy: 'contextguard' })
    expect(shipped).toMatchObject({ overflows: 0, invalid: 0, lost: 0, typedErrors: 0 })
    if (!OVERHEAD.has(scenario.name)) expect(shipped.maxConsecutiveCompactions).toBeLessThan(3)
    expect(shipped.compactions).toBeGreaterThanOrEqual(scenario.minCompactions)
  })

  it.each([
    { window: 8_000, fits: 3.1, breaks: 3.2 },
    { window: 200_000, fits: 2.77, breaks: 2.79 },
    { window: 1_000_000, fits: 2.55, breaks: 2.56 },
  ])('without usage a window of $window holds up to a ratio of $fits', ({ window, fits, breaks }) => {
    // Steps of a few tokens, so that the last request before the line is as large as can be.
    const turns = Math.ceil(window / 2.5 / 40)
    const small = { ...scenarios[0]!, window, system: 400, usage: false as const, turns, turn: () => ({ user: 40 }) }
    expect(referenceRun({ ...small, ratio: fits }).overflows).toBe(0)
    expect(referenceRun({ ...small, ratio: breaks }).overflows).toBeGreaterThan(0)
  })

  it.each([
    ['contextguard', '8k_SystemPromptLargerThanWindow', 10],
    ['contextguard', 'CompactionNoInfiniteLoop', 5],
    ['contextguard-window', '8k_SystemPromptLargerThanWindow', 10],
    ['contextguard-window', 'CompactionNoInfiniteLoop', 5],
  ])('%s serves every step of %s, and asks no model for it', async (policy, name, designed) => {
    const row = scenarios.find((scenario) => scenario.name === name)!
    expect(row.reference.compactions).toBe(designed)
    const views: string[] = []
    const shipped = await simulate(row, { policy, onStep: ({ prepared }) => views.push(prepared?.text ?? '') })
    expect(shipped).toMatchObject({ steps: designed, typedErrors: 0, overflows: 0, summarizerCalls: 0 })
    for (const view of views.slice(3)) {
      expect(view).toContain('[Previous conversation summary.')
      expect(view).toMatch(/The user's current request is: `[^`]{100,}/)
    }
  })

  it('needs the larger factor where the buffer is the smaller one', () => {
    const long = scenarios.find(({ name }) => name === '200k_NoUsageMetadata_LongSession')!
    expect(referenceRun(long, { factor: 2 })).toMatchObject({ overflows: 16, peakReal: 216_777 })
    expect(referenceRun(long)).toMatchObject({ overflows: 0 })
  })

  it('goes through 25 turns whose usage starts at turn 6', async () => {
    const phase = scenarios.find(({ name }) => name === '200k_LateUsageMetadata/phase2')!
    const run = await simulate({ ...phase, name: 'late', turns: 25, usage: 5 }, { policy: 'contextguard' })
    expect(run).toMatchObject({ overflows: 0, invalid: 0, lost: 0, steps: 50 })
  })
})

const limitOf = (window: number) => ({
  window,
  tokens: window,
  buffer: 0,
  outputReserve: 0,
  bytes: Infinity,
  source: 'config' as const,
})

describe('the line', () => {
  it.each([
    [1_000_000, 20_000],
    [250_000, 20_000],
    [200_000, 20_000],
    [150_000, 30_000],
    [50_000, 10_000],
    [10_000, 2_000],
    [8_000, 1_600],
  ])('a window of %i has a buffer of %i', (window, buffer) => {
    expect(highWater(contextguard, limitOf(window))).toBe(window - buffer)
  })

  const session = (window: number, policy: Policy = contextguard) => presetSession(policy, window)

  it('leaves what is below alone and compacts at exactly the line', async () => {
    // 1,000 tokens: line at 800; the default factor makes 320 of bytes / 4 into 800.
    const history = (length: number): Content[] => [user(chars(600)), model(chars(200)), user(chars(length))]
    expect((await session(1_000).prepare(history(476))).report.newEpoch).toBeUndefined()
    expect((await session(1_000).prepare(history(480))).report.newEpoch).toBeDefined()
  })

  it('becomes exactly a summary and a continuation that quotes the request', async () => {
    const history = [user(chars(4_000)), model(chars(3_000)), user('What is next?')]
    const { contents, sent } = await session(1_000).prepare(history)
    expect(contents).toHaveLength(2)
    expect(textOf(contents[0]!)).toMatch(/^\[Previous conversation summary/)
    expect(textOf(contents[1]!)).toContain("The user's current request is: `What is next?`")
    expect(sent.contents.map(({ role }) => role)).toEqual(['user'])
  })

  it('quotes a long task whole where it is a small part of the window', async () => {
    const task = Array.from({ length: 90 }, (_, n) => `Rule ${n}: no request of shard ${n} waits for another one.`)
    const pairs = Array.from({ length: 60 }, (_, n) => [call(`c${n}`), result(`c${n}`, chars(3_000))]).flat()
    const { contents, report } = await session(32_000).prepare([user(task.join('\n')), ...pairs])
    expect(report.newEpoch).toBeDefined()
    expect(contents.map(textOf).join('\n')).toContain(task.join('\n'))
  })

  it('bounds the quote of a pasted request and keeps all of it behind a handle', async () => {
    const preset = session(8_000)
    const request = chars(30_000, 'pasted')
    const { contents, text } = await preset.prepare([user('Start.'), model('Yes.'), user(request)])
    expect(textOf(contents[1]!).length).toBeLessThan(2_300)
    const [handle] = /art_[0-9a-z]{26}/.exec(text)!
    expect(Buffer.from((await preset.plimsoll.artifacts.read(handle))!).toString()).toBe(request)
  })

  it('keeps the open tool step, and compacts histories of tools alone', async () => {
    const pairs = Array.from({ length: 50 }, (_, n) => [call(`c${n}`), result(`c${n}`, chars(400))]).flat()
    const { contents, report } = await session(8_000).prepare([user('Go.'), ...pairs])
    expect(report.newEpoch).toBeDefined()
    expect(contents).toHaveLength(4)
    expect(contents.slice(2)).toEqual(pairs.slice(-2))
    expect(brokenPairs(contents)).toEqual([])
  })

  it('believes a provider that counts more than the heuristic', async () => {
    const preset = session(150_000)
    const history: Content[] = [user(chars(80_000)), model(chars(80_000)), user('And now?')]
    await preset.usage(await preset.prepare(history), 130_000)
    const { report } = await preset.prepare([...history, model('So.'), user('More.')])
    expect(report.newEpoch).toBeDefined()
  })

  it('finds the summary where it was on the next call, and everything new behind it', async () => {
    const preset = session(1_000)
    const history = [user(chars(4_000)), model(chars(3_000)), user('Next?')]
    const first = await preset.prepare(history)
    const second = await preset.prepare([...history, model('Done.'), user('Thanks.')])
    expect(second.report.newEpoch).toBeUndefined()
    expect(second.contents).toEqual([...first.contents, model('Done.'), user('Thanks.')])
  })
})

describe('summaries', () => {
  const history = [user(chars(9_000, 'task')), model(chars(9_000, 'answer')), user('Next?')]
  const run = async (answers: readonly (string | Error)[], policy: Policy = contextguard) => {
    let calls = 0
    const preset = presetSession(policy, 4_000, {
      summarizer: {
        name: 'test',
        window: 4_000,
        summarise: async () => {
          const answer = answers[Math.min(calls++, answers.length - 1)]!
          if (answer instanceof Error) throw answer
          return { text: answer, stop: 'end' }
        },
      },
    })
    const prepared = await preset.prepare(history)
    return { calls, prepared, events: preset.events }
  }
  const huge = chars(40_000, 'huge')

  it.each([
    ['small', ['A short answer.'], 1, 'A short answer.'],
    ['huge, huge, small', [huge, huge, 'A task at last.'], 3, 'A task at last.'],
    ['always huge', [huge], 3, 'assistant: answer'],
    ['empty', ['', '', ''], 3, 'assistant: answer'],
    ['failing', [new Error('down')], 1, 'assistant: answer'],
  ])('%s answers: the right number of calls, never an error, always a summary', async (_, answers, calls, shown) => {
    const { prepared, calls: made } = await run(answers)
    expect(made).toBe(calls)
    expect(textOf(prepared.contents[0]!)).toContain(shown)
  })

  it('asks as often as the policy says', async () => {
    expect((await run([huge], { ...contextguard, passes: 5 })).calls).toBe(5)
  })

  it('says why an answer did not enter', async () => {
    const { events } = await run([huge])
    expect(events.filter(({ type }) => type === 'summary-rejected')).toHaveLength(3)
  })

  it('asks for four sections under a word limit and shows the summarizer what tools were asked and said', async () => {
    const seen: { system: string; prompt: string; maxOutputTokens: number }[] = []
    const preset = presetSession(contextguard, 200_000, {
      summarizer: {
        name: 'test',
        window: 200_000,
        summarise: async (request) => {
          seen.push(request)
          return { text: 'Short.', stop: 'end' }
        },
      },
    })
    await preset.prepare([
      user(chars(300_000)),
      call('c1', 'kubectl', { verb: 'get pods' }),
      result('c1', 'pod-7 CrashLoopBackOff', 'kubectl'),
      model('It crashes.'),
      user('Why?'),
    ])
    const [{ system, prompt, maxOutputTokens }] = seen as [(typeof seen)[0]]
    for (const section of ['Current State', 'Key Information', 'Context & Decisions', 'Exact Next Steps'])
      expect(system).toContain(section)
    expect(system).toContain('7500 words')
    expect(maxOutputTokens).toBe(10_000)
    expect(prompt).toMatch(/\[called tool: kubectl\].*get pods/)
    expect(prompt).toMatch(/\[tool kubectl returned\] pod-7 CrashLoopBackOff/)
  })

  it('cuts the excerpts at 200 bytes, never inside a character', async () => {
    const preset = presetSession(contextguard, 4_000)
    const { contents } = await preset.prepare([user('ü'.repeat(9_000)), model('é'.repeat(9_000)), user('Next?')])
    expect(textOf(contents[0]!)).toContain(`assistant: ${'é'.repeat(100)}...`)
    expect(textOf(contents[0]!)).toMatch(/Task:\nü+\.\.\./)
    expect(textOf(contents[0]!)).not.toContain('\uFFFD')
  })
})
