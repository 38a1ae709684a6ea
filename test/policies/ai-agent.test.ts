import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FINAL_INSTRUCTION, FINAL_REPORT_TOOL } from '../../src/engine/presets/ai-agent/policy.ts'
import { aiAgent } from '../../src/engine/presets/index.ts'
import { call, chars, model, presetSession, result, textOf, user, type Content } from './session.ts'

const tool = (name: string, length = 40) => ({
  name,
  description: chars(length),
  parameters: { type: 'object', properties: { q: { type: 'string' } } },
})
const tools = (...names: string[]) => ({ tools: [{ functionDeclarations: names.map((name) => tool(name)) }] })
const declared = (sent: { readonly tools?: unknown }): string[] =>
  ((sent.tools ?? []) as { functionDeclarations: { name: string }[] }[]).flatMap((group) =>
    group.functionDeclarations.map(({ name }) => name),
  )
const pairs = (count: number, size: number): Content[] =>
  Array.from({ length: count }, (_, n) => [call(`c${n}`), result(`c${n}`, chars(size))]).flat()

describe('the guard', () => {
  it('holds back buffer and output: 128,000 - 8,192 - 16,384', async () => {
    const { limit } = await presetSession(aiAgent(), 128_000).prepare([user('Hi.')], {
      generationConfig: { maxOutputTokens: 16_384 },
    })
    expect(limit).toMatchObject({ window: 128_000, buffer: 8_192, outputReserve: 16_384, tokens: 103_424 })
    const large = await presetSession(aiAgent(), 200_000).prepare([user('Hi.')], {
      generationConfig: { maxOutputTokens: 16_384 },
    })
    expect(large.limit.buffer).toBe(8_192)
  })

  it('reserves a quarter of the window where nothing says how long the answer may be', async () => {
    const { limit } = await presetSession(aiAgent(), 100_000)
      .plimsoll.session({ id: 'x' })
      .prepare({
        format: 'gemini',
        body: { contents: [user('Hi.')] },
        targets: [{ model: 'nobody-knows', window: 100_000 }],
      })
    expect(limit.outputReserve).toBe(25_000)
  })

  it('goes on below the limit with all tools', async () => {
    const { verdict, report, sent } = await presetSession(aiAgent(), 4_096).prepare(
      [user('Hi.')],
      tools('bash', FINAL_REPORT_TOOL),
    )
    expect(verdict).toMatchObject({ kind: 'proceed', reason: 'fits' })
    expect(report.untouched).toBe(true)
    expect(declared(sent)).toEqual(['bash', FINAL_REPORT_TOOL])
  })

  it('forces a closing turn above it: the final report only, the instruction, and it fits', async () => {
    const history = [user('Report on the cluster.'), ...pairs(8, 3_000)]
    const { verdict, sent, load, limit } = await presetSession(aiAgent(), 6_000).prepare(
      history,
      tools('bash', FINAL_REPORT_TOOL),
    )
    expect(verdict).toMatchObject({ kind: 'final', reason: 'context' })
    expect(declared(sent)).toEqual([FINAL_REPORT_TOOL])
    expect(JSON.stringify(sent.systemInstruction)).toContain(FINAL_INSTRUCTION.slice(0, 40))
    expect(load.count.high).toBeLessThanOrEqual(limit.tokens)
  })

  it('stays closed: the reason is sticky', async () => {
    const preset = presetSession(aiAgent(), 6_000)
    const history = [user('Report.'), ...pairs(8, 3_000)]
    await preset.prepare(history, tools('bash', FINAL_REPORT_TOOL))
    const again = await preset.prepare(
      [...history, model('Report: done.'), user('And?')],
      tools('bash', FINAL_REPORT_TOOL),
    )
    expect(again.verdict.kind).toBe('final')
  })

  it('tries fewer tools before it closes, where the declarations alone are too large', async () => {
    const body = {
      tools: [{ functionDeclarations: [tool('bash'), tool('encyclopedia', 40_000), tool(FINAL_REPORT_TOOL)] }],
    }
    const filtered = presetSession({ ...aiAgent(), tools: { deny: ['encyclopedia'] } }, 9_000)
    const first = await filtered.prepare([user('Hi.')], body)
    expect(first.verdict).toMatchObject({ kind: 'proceed', reason: 'tools filtered' })
    expect(declared(first.sent)).toEqual(['bash', FINAL_REPORT_TOOL])
    const closed = await presetSession(aiAgent(), 9_000).prepare([user('Hi.')], body)
    expect(closed.verdict.kind).toBe('final')
    expect(declared(closed.sent)).toEqual([FINAL_REPORT_TOOL])
  })

  it('says "Still over limit after shrink" and returns the typed error instead of sending', async () => {
    const preset = presetSession(aiAgent(), 600)
    const system = { systemInstruction: { parts: [{ text: chars(9_000) }] } }
    await expect(preset.prepare([user('Hi.')], system)).rejects.toMatchObject({ code: 'fixed-overhead' })
    expect(preset.events).toContainEqual(expect.objectContaining({ message: 'Still over limit after shrink' }))
  })
})

describe('tool outputs', () => {
  it.each([
    [12_288, false],
    [13_500, true],
  ])('%i bytes: stored %s', async (size, stored) => {
    const { report } = await presetSession(aiAgent(), 131_072).prepare([
      user('Go.'),
      call('c1'),
      result('c1', chars(size)),
    ])
    expect(report.shortened.length > 0).toBe(stored)
  })

  it('shows both halves where no reader is declared, and only the handle where one is', async () => {
    const output = `first ${chars(20_000)} last`
    const history = [user('Go.'), call('c1'), result('c1', output)]
    const cut = await presetSession(aiAgent(), 131_072).prepare(history)
    expect(textOf(cut.contents[2]!)).toMatch(/^first [^]*···TRUNCATED \d+ bytes···[^]*last\n\[Full output: art_/)
    const read = await presetSession(aiAgent(), 131_072).prepare(history, tools('artifact_read'))
    expect(textOf(read.contents[2]!)).toMatch(
      /^\[Tool output is too large for the context \(20,0\d\d bytes, .* stored as art_/,
    )
  })
})

describe('debug topics', () => {
  const TOPICS = [
    'init-counters',
    'loop-init',
    'schema-estimate',
    'evaluate',
    'evaluate-target',
    'provider-eval',
    'build-metrics',
  ]
  const topicsOf = async (env: Record<string, string>, window: number) => {
    const preset = presetSession(aiAgent(env), window)
    await preset.prepare([user('Report.'), ...pairs(8, 3_000)], tools('bash', FINAL_REPORT_TOOL))
    return preset.events.flatMap((event) =>
      event.type === 'warning' && event.topic.startsWith('context-guard/') ? [event.topic.slice(14)] : [],
    )
  }

  it('are written with CONTEXT_DEBUG=true, enforcement included', async () => {
    expect(await topicsOf({ CONTEXT_DEBUG: 'true' }, 100_000)).toEqual(TOPICS)
    expect(await topicsOf({ CONTEXT_DEBUG: 'true' }, 6_000)).toEqual([...TOPICS, 'enforce'])
    expect(await topicsOf({}, 6_000)).toEqual([])
  })
})

describe('the six invariants', () => {
  const SEED = 20_261_115
  const runs = (property: fc.IAsyncProperty<[number, number, number]>) => {
    console.info(`seed ${SEED}`)
    return fc.assert(property, { seed: SEED, numRuns: 40 })
  }
  const anySession = [
    fc.integer({ min: 1_500, max: 40_000 }),
    fc.integer({ min: 0, max: 12 }),
    fc.integer({ min: 20, max: 9_000 }),
  ] as const

  it('1, 2, 3, 5: over the limit the turn is closed or refused before anything is sent; buffer and output stay free', () =>
    runs(
      fc.asyncProperty(...anySession, async (window, count, size) => {
        const preset = presetSession(aiAgent(), window)
        const reserve = Math.floor(window / 8)
        const asked = { ...tools('bash', FINAL_REPORT_TOOL), generationConfig: { maxOutputTokens: reserve } }
        const turn = await preset.prepare([user('Go.'), ...pairs(count, size)], asked).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'fixed-overhead' })
        })
        if (turn === undefined) return
        expect(turn.limit.tokens).toBe(window - turn.limit.buffer - reserve)
        expect(turn.limit.buffer).toBe(Math.min(8_192, Math.floor(window / 8)))
        expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
        if (turn.report.loadBefore > turn.limit.tokens) expect(turn.verdict.kind).toBe('final')
      }),
    ))

  it('4: the load only grows while nothing is enforced', () =>
    runs(
      fc.asyncProperty(...anySession, async (_, count, size) => {
        const preset = presetSession(aiAgent(), 200_000)
        let before = 0
        for (let n = 0; n <= count; n++) {
          const { load } = await preset.prepare([user('Go.'), ...pairs(n, Math.min(size, 3_000))])
          expect(load.count.high).toBeGreaterThanOrEqual(before)
          before = load.count.high
        }
      }),
    ))

  it('6: reasoning is inside the output reserve, not added to it', async () => {
    const config = { maxOutputTokens: 4_000, thinkingConfig: { thinkingBudget: 2_000 } }
    const { limit } = await presetSession(aiAgent(), 64_000).prepare([user('Think.')], { generationConfig: config })
    expect(limit.outputReserve).toBe(4_000)
  })
})
