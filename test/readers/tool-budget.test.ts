import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  shareFairly,
  toolBudget,
  type ResultForms,
  type ToolBudgetOptions,
} from '../../src/engine/tool-results/tool-budget.ts'

const SEED = 20261115
/** One token per word: budgets below can be read off the page. */
const countTokens = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length
const text = (tokens: number): string => Array.from({ length: tokens }, (_, i) => `w${i}`).join(' ')
const HANDLE = `stored as art_${'0'.repeat(26)} read it with artifact_read`

const budget = (options: Partial<ToolBudgetOptions> = {}) =>
  toolBudget({ countTokens, minPreviewTokens: 20, minExecuteTokens: 1, ...options })
const result = (tool: string, tokens: number, forms: Partial<ResultForms> = {}): ResultForms => ({
  callId: `${tool}-${tokens}`,
  tool,
  full: text(tokens),
  preview: (most) => text(most),
  handle: HANDLE,
  ...forms,
})

describe('one result', () => {
  it('is whole while it fits, to the last token', async () => {
    expect(await budget({ turnTokens: 100 }).reserve(result('bash', 100))).toMatchObject({ step: 'full', tokens: 100 })
    expect(await budget({ turnTokens: 100 }).reserve(result('bash', 101))).toMatchObject({
      step: 'preview',
      tokens: 100,
    })
    expect(await budget().reserve(result('bash', 1_000_000))).toMatchObject({ step: 'full' })
  })

  it('goes from preview to handle to a refusal that says why', async () => {
    const steps = budget({ turnTokens: 130 })
    expect(await steps.reserve(result('bash', 80))).toMatchObject({ step: 'full' })
    const preview = await steps.reserve(result('bash', 500, { preview: (most) => text(most - 12) }))
    expect(preview).toMatchObject({ step: 'preview', tokens: 38 })
    expect(await steps.reserve(result('bash', 500))).toMatchObject({ step: 'handle', text: HANDLE })
    const refused = await steps.reserve(result('bash', 500))
    expect(refused.step).toBe('refusal')
    expect(refused.text).toMatch(
      /^The result of bash \(500 tokens\) is not shown: all tools together may show 130 tokens per turn, 12\d are used\. The whole result is kept: art_0{26}\./,
    )
    expect(refused.reason).toContain('130 tokens per turn')
  })

  it('does not believe a preview that is larger than it was asked to be', async () => {
    expect(await budget({ turnTokens: 50 }).reserve(result('bash', 500, { preview: () => text(51) }))).toMatchObject({
      step: 'handle',
    })
  })
})

describe('limits', () => {
  it('are kept per tool, per turn and per session, and the tightest decides', async () => {
    const limited = budget({
      turnTokens: 1000,
      sessionTokens: 2000,
      tools: { bash: { turnTokens: 100, sessionTokens: 150 } },
    })
    expect(await limited.reserve(result('bash', 90))).toMatchObject({ step: 'full' })
    expect(await limited.reserve(result('bash', 90))).toMatchObject({
      step: 'handle',
      reason: expect.stringContaining('bash may show 100 tokens per turn, 90 are used'),
    })
    expect(await limited.reserve(result('curl', 500))).toMatchObject({ step: 'full' })
    limited.nextTurn()
    expect(await limited.reserve(result('bash', 90))).toMatchObject({
      step: 'preview',
      reason: expect.stringContaining('bash may show 150 tokens per session'),
    })
    expect(await limited.reserve(result('curl', 900))).toMatchObject({ step: 'full' })
    expect(await limited.reserve(result('curl', 900))).toMatchObject({
      reason: expect.stringContaining('1,000 tokens per turn'),
    })
  })

  it('follow the room in the window', async () => {
    let room = 100
    const window = budget({ room: () => room })
    expect(await window.reserve(result('bash', 60))).toMatchObject({ step: 'full' })
    expect(await window.reserve(result('bash', 60))).toMatchObject({
      step: 'preview',
      tokens: 40,
      reason: 'the context window is nearly full',
    })
    window.nextTurn()
    room = 10
    expect(await window.reserve(result('bash', 60))).toMatchObject({ step: 'handle' })
  })

  it('tell before a tool runs whether its result could be shown', async () => {
    const tight = budget({ turnTokens: 100, minExecuteTokens: 50, tools: { slow: { sessionTokens: 10 } } })
    expect(tight.canExecute('bash')).toEqual({ ok: true })
    expect(tight.canExecute('slow')).toMatchObject({
      ok: false,
      refusal: expect.stringContaining('slow was not run: slow may show 10 tokens per session'),
    })
    await tight.reserve(result('bash', 60))
    expect(tight.canExecute('bash')).toMatchObject({ ok: false })
    tight.nextTurn()
    expect(tight.canExecute('bash')).toEqual({ ok: true })
  })

  it('go on from a snapshot', async () => {
    const first = budget({ sessionTokens: 100, tools: { bash: { sessionTokens: 80 } } })
    await first.reserve(result('bash', 70))
    const second = budget({ sessionTokens: 100, tools: { bash: { sessionTokens: 80 } }, used: first.snapshot() })
    expect(await second.reserve(result('bash', 20))).toMatchObject({ step: 'handle' })
  })
})

describe('parallel results', () => {
  it('share fairly: small ones whole, the rest equal', async () => {
    const grants = await budget({ turnTokens: 1000 }).reserveBatch([
      result('a', 5000),
      result('b', 50),
      result('c', 900),
      result('d', 10),
    ])
    expect(grants.map(({ callId, step, tokens }) => [callId, step, tokens])).toEqual([
      ['a-5000', 'preview', 470],
      ['b-50', 'full', 50],
      ['c-900', 'preview', 470],
      ['d-10', 'full', 10],
    ])
    expect(grants[0]?.reason).toContain('4 results share')
  })

  it('share fairly under the limit of a tool as well', async () => {
    const grants = await budget({ turnTokens: 1000, tools: { bash: { turnTokens: 100 } } }).reserveBatch([
      result('bash', 500),
      result('bash', 500),
      result('curl', 2000),
    ])
    expect(grants.map(({ tokens }) => tokens)).toEqual([50, 50, 900])
  })

  it('are not blocked by one whose forms fail', async () => {
    const shared = budget({ turnTokens: 50 })
    const broken = shared.reserve(result('bash', 500, { preview: () => Promise.reject(new Error('no preview')) }))
    await expect(broken).rejects.toThrow('no preview')
    expect(await shared.reserve(result('bash', 40))).toMatchObject({ step: 'full' })
  })

  it('keep every limit, in any order and mixture', async () => {
    console.info(`seed ${SEED}`)
    const one = fc.record({ tool: fc.constantFrom('a', 'b', 'c'), tokens: fc.nat({ max: 400 }), batch: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { maxLength: 20 }),
        fc.nat({ max: 800 }),
        fc.nat({ max: 300 }),
        async (calls, turnTokens, ownTokens) => {
          const tried = budget({ turnTokens, tools: { a: { turnTokens: ownTokens } } })
          const alone = calls.filter(({ batch }) => !batch).map(({ tool, tokens }) => result(tool, tokens))
          const together = calls.filter(({ batch }) => batch).map(({ tool, tokens }) => result(tool, tokens))
          const grants = [...(await tried.reserveBatch(together))]
          for (const each of alone) grants.push(await tried.reserve(each))
          expect(grants).toHaveLength(calls.length)
          const shown = (tool?: string): number =>
            grants
              .filter(({ step, callId }) => step !== 'refusal' && (tool === undefined || callId.startsWith(tool)))
              .reduce((sum, { tokens }) => sum + tokens, 0)
          expect(shown()).toBeLessThanOrEqual(turnTokens)
          expect(shown('a')).toBeLessThanOrEqual(ownTokens)
        },
      ),
      { seed: SEED, numRuns: 300 },
    )
  })
})

describe('fair shares', () => {
  it('give nobody more than it wants, never exceed the budget, and waste nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1000 }), { maxLength: 12 }), fc.nat({ max: 3000 }), (wanted, total) => {
        const shares = shareFairly(wanted, total)
        const sum = shares.reduce((a, b) => a + b, 0)
        expect(sum).toBeLessThanOrEqual(total)
        shares.forEach((share, i) => expect(share).toBeLessThanOrEqual(wanted[i] ?? 0))
        const want = wanted.reduce((a, b) => a + b, 0)
        if (want <= total) expect(shares).toEqual(wanted)
        else expect(total - sum).toBeLessThan(wanted.length)
        // Whoever got less than it wants got at least as much as anyone else, but for a token of rounding.
        const cut = shares.filter((share, i) => share < (wanted[i] ?? 0))
        if (cut.length > 0) expect(Math.max(...shares) - Math.min(...cut)).toBeLessThanOrEqual(1)
      }),
      { seed: SEED, numRuns: 1000 },
    )
  })
})
