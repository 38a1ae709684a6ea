import { describe, expect, it, vi } from 'vitest'
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

  it('zones of 5 and 15 in a window of 20 take at most half of it', async () => {
    const policy = withWindow(20, 15, { CYBER_CONVERSATION_PRESERVE_FIRST: '5' })
    const history = talk(31)
    const { contents } = await presetSession(policy, ROOM).prepare(history)
    // Down to 18, the line that stands for the others among them: the zones alone would have kept 20.
    expect(contents.length).toBeLessThanOrEqual(18)
    expect(contents.slice(0, 5)).toEqual(history.slice(0, 5))
    expect(contents.slice(-5)).toEqual(history.slice(-5))
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

  it('summarises the oldest 30 % of what the window left, when that is still above the threshold', async () => {
    // 90 messages are left: 11,000 + 90 × 50 + 108,000 / 4.2 is above 65 % of 55,000 and below 90 % of it.
    const { contents, report } = await presetSession(cyberAutoagent(), 55_000).prepare(talk(221, 1_200))
    expect(report.newEpoch).toBeDefined()
    // Of the 89 beside the window's own line the oldest 26; the first of them stays, the others and the line become one message.
    expect(contents).toHaveLength(89 - 25 + 1)
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
    const { verdict, limit, report } = await presetSession({ ...policy, cascade }, 16_000).prepare(history)
    expect(report.newEpoch).toBeDefined()
    // The design's own number has constants in it; what may leave is decided by the meter's upper bound.
    expect(verdict).toMatchObject({ kind: 'proceed' })
    expect(verdict.kind === 'proceed' && verdict.projected).toBeLessThanOrEqual(limit.tokens)
  })

  it('summarises the oldest 30 % first and keeps the newest', async () => {
    const prompts: string[] = []
    const preset = presetSession(cyberAutoagent(), 100_000, {
      summarizer: (prompt) => {
        prompts.push(prompt)
        return 'Lorem, in short.'
      },
    })
    const history = talk(61, 5_000)
    const { contents } = await preset.prepare(history)
    expect(textOf(contents[1]!)).toContain('Lorem, in short.')
    expect(contents.slice(-5)).toEqual(history.slice(-5))
    expect(prompts).toHaveLength(1)
  })
})

describe('the layers, in their order', () => {
  /** 8,000 + 3,000 + 50 per message + characters / 4.2 on this model; calls count their name and arguments. */
  const estimateOf = (contents: readonly Content[]): number => {
    const characters = contents
      .flatMap(({ parts }) => parts)
      .reduce((sum, part) => {
        if ('text' in part) return sum + part.text.length
        if ('functionCall' in part)
          return sum + part.functionCall.name.length + JSON.stringify(part.functionCall.args).length
        return sum + part.functionResponse.name.length + part.functionResponse.response.result.length
      }, 0)
    return 11_000 + 50 * contents.length + Math.floor(characters / 4.2)
  }
  /** Plain prose: its upper bound stays well below what the estimate leaves free. */
  const prose = (size: number, seed: string): string =>
    `${seed} the scan of the host went on and nothing new was found there. `.repeat(Math.ceil(size / 40)).slice(0, size)
  const work = (steps: number, size: number): Content[] => [
    user('Assess example.com.'),
    ...Array.from({ length: steps }, (_, n) => [call(`c${n}`), result(`c${n}`, prose(size, `out${n}`))]).flat(),
  ]
  const run = async (history: readonly Content[], window: number, more = {}) => {
    let calls = 0
    // Results come in whole: what is old enough to be compressed is what earlier versions left inline.
    const policy = { ...cyberAutoagent(), intake: { maxShare: 1, previewShare: 1 } }
    const preset = presetSession(policy, window, {
      summarizer: () => {
        calls++
        return 'What was found at example.com.'
      },
      ...more,
    })
    const prepared = await preset.prepare(history)
    const lines = preset.events.flatMap((event) =>
      event.type === 'warning' && event.topic === 'cyber-autoagent' ? [`${event.level ?? ''} ${event.message}`] : [],
    )
    return { ...prepared, lines, calls }
  }

  it('does nothing below 65 %', async () => {
    const history = work(20, 9_000)
    const window = Math.ceil((estimateOf(history) + 1) / 0.65)
    const { report, lines } = await run(history, window)
    expect(report.newEpoch).toBeUndefined()
    expect(lines).toEqual([
      'info HOOK REGISTRATION: PromptBudgetHook',
      `info TOKEN ESTIMATION: ${estimateOf(history)} tokens in 41 messages`,
      `info BUDGET CHECK: context=${estimateOf(history)}, threshold=${Math.floor(window * 0.65)}`,
    ])
  })

  it('layer 1 alone where it suffices: no message goes, nobody is asked', async () => {
    const history = work(20, 12_000)
    const window = Math.floor(estimateOf(history) / 0.65)
    const { contents, lines, calls } = await run(history, window)
    expect(contents).toHaveLength(41)
    expect(calls).toBe(0)
    // All but the first message and the last five: 17 results stand between the zones.
    expect(lines).toContain('info LAYER 2 COMPRESSION: Compressing 17 tool result(s)')
    expect(lines).toContain(
      `warning THRESHOLD EXCEEDED: context=${estimateOf(history)}, threshold=${Math.floor(window * 0.65)}`,
    )
    expect(lines).toContain('info Context reduced via mapping manager: messages 41->41')
    expect(lines.join()).not.toMatch(/SUMMARIZATION|SLIDING/)
  })

  it('layer 2 by its number of messages, without a word about tokens', async () => {
    const { contents, lines, calls } = await run(work(60, 200), 2_000_000)
    expect(contents.length).toBeLessThanOrEqual(90)
    expect(calls).toBe(0)
    expect(lines.join()).not.toContain('THRESHOLD EXCEEDED')
    expect(lines.join()).toMatch(/SLIDING WINDOW: Removing \d+ item/)
  })

  it('layer 3 once, where 1 and 2 do not suffice', async () => {
    const history = work(30, 9_900)
    const { lines, calls, contents } = await run(history, Math.floor(estimateOf(history) / 0.66))
    expect(calls).toBe(1)
    expect(textOf(contents[1]!)).toContain('What was found at example.com.')
    expect(lines.join()).toMatch(/SUMMARIZATION: Summarizing \d+ item/)
    expect(lines.join()).toContain('Context reduced via summarizing manager: messages 61->')
  })

  it('layer 4 asks at most two times more', async () => {
    let calls = 0
    const history = work(33, 9_900)
    await run(history, Math.floor(estimateOf(history) / 1.2), {
      summarizer: () => {
        calls++
        return chars(400_000, 'too long')
      },
    })
    expect(calls).toBe(3)
  })

  it('layer 4 ends after 30 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    try {
      const history = work(33, 9_900)
      let isDone = false
      let running: ReturnType<typeof run> | undefined
      await new Promise<void>((asked) => {
        const summarizer = (): Promise<string> => {
          asked()
          return new Promise(() => {})
        }
        running = run(history, Math.floor(estimateOf(history) / 0.8), { summarizer })
      })
      void running!.then(() => (isDone = true))
      await vi.advanceTimersByTimeAsync(29_999)
      expect(isDone).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      expect((await running!).report.newEpoch).toBeDefined()
    } finally {
      vi.useRealTimers()
    }
  })
})
