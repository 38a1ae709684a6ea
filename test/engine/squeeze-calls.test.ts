import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shortenCall } from '../../src/engine/epoch/cascade/squeeze.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { plainBody } from '../pains/support/plain-bodies.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { SEED } from '../support/property.ts'

const HANDLE = 'art_test' as Parameters<typeof shortenCall>[1]['handle']
const countTokens = (text: string): number => Math.ceil(text.length / 4)
const shorten = (text: string, budgetTokens: number): string | undefined =>
  shortenCall(text, { budgetTokens, countTokens, handle: HANDLE })

/** The shape of a value: keys and kinds, and everything that is no long text. */
const shapeOf = (value: unknown): unknown => {
  if (typeof value === 'string') return value.length <= 100 ? value : 'text'
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]))
  return value
}

describe('the arguments of a call', () => {
  it('keep everything but the middle of their long texts', () => {
    const content = Array.from({ length: 900 }, (_, line) => `line ${line} of "the file" \\ with 𠀋`).join('\n')
    const text = `{"path":"src/a.ts", "mode":420,"big":12345678901234567890, "content":${JSON.stringify(content)}}`
    const shown = shorten(text, 400)!
    expect(countTokens(shown)).toBeLessThanOrEqual(400)
    expect(shown.startsWith('{"path":"src/a.ts", "mode":420,"big":12345678901234567890, "content":"line 0 of')).toBe(
      true,
    )
    const { content: cut } = JSON.parse(shown) as { content: string }
    expect(cut).toContain(HANDLE)
    expect(cut.endsWith(content.slice(-20))).toBe(true)
  })

  it(`stay valid JSON of the same shape, whatever they are (seed ${SEED})`, () => {
    const text = fc.string({ unit: 'binary', maxLength: 3_000 })
    const value = fc.object({ values: [text, fc.integer(), fc.boolean(), fc.constant(null)], maxDepth: 3 })
    fc.assert(
      fc.property(value, fc.integer({ min: 20, max: 600 }), (arguments_, budget) => {
        const whole = JSON.stringify(arguments_)
        const shown = shorten(whole, budget)
        if (shown === undefined) return
        // Not even the shortest may be short enough.
        expect(countTokens(shown)).toBeLessThanOrEqual(Math.max(budget, countTokens(shorten(whole, 1)!)))
        expect(shown.length).toBeLessThan(whole.length)
        expect(shown).not.toMatch(/\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])/i)
        const before = JSON.parse(whole) as Record<string, unknown>
        const after = JSON.parse(shown) as Record<string, unknown>
        expect(JSON.stringify(shapeOf(after))).toBe(JSON.stringify(shapeOf(before)))
      }),
      { seed: SEED, numRuns: 200 },
    )
  })

  it('are as short as they can be when that is still more than asked for', () => {
    const long = 'a line of code\n'.repeat(150)
    const edit = JSON.stringify({ path: 'src/a.ts', old_str: long, new_str: long })
    const shown = shorten(edit, 50)!
    expect(countTokens(shown)).toBeLessThan(countTokens(edit) / 4)
    expect(Object.keys(JSON.parse(shown) as object)).toEqual(['path', 'old_str', 'new_str'])
  })

  it('that are plain text are cut as plain text', () => {
    const patch = '*** Begin Patch\n' + '+ a line\n'.repeat(2_000) + '*** End Patch'
    const shown = shorten(patch, 200)!
    expect(shown.startsWith('*** Begin Patch')).toBe(true)
    expect(shown.endsWith('*** End Patch')).toBe(true)
    expect(shown).toContain(HANDLE)
  })

  it('are left alone when there is nothing long in them', () => {
    expect(shorten(JSON.stringify({ list: Array.from({ length: 2_000 }, (_, n) => n) }), 100)).toBeUndefined()
  })
})

describe.each(WIRES)('a call that is larger than the window, on %s', (wire) => {
  const content = Array.from({ length: 3_000 }, (_, line) => `export const value_${line} = ${line * 7}`).join('\n')
  const body = plainBody(wire, [
    {
      user: 'Write the table of values.',
      steps: [{ calls: [{ name: 'write', args: { path: 'values.ts', content }, result: 'written' }] }],
    },
  ])

  it('is shown with its ends and a handle that opens all of it', async () => {
    const { session, deps } = testEngine()
    const agent = session()
    const turn = await agent.prepare({ format: wire, body, targets: [{ model: 'm', window: 16_000 }] })
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(codecOf(wire).check(JSON.parse(turn.text))).toEqual([])
    const view = codecOf(wire).decode(turn.text)
    const [call] = view.items.filter(({ kind }) => kind === 'call')
    const input = JSON.parse(call!.text) as { path: string; content: string }
    expect(input.path).toBe('values.ts')
    expect(input.content).toContain('value_0 = 0')
    expect(input.content).toContain('value_2999')
    const edit = turn.edits.find(({ op }) => op === 'replace')
    const handle = (edit as { handle: string }).handle
    expect(input.content).toContain(handle)
    const stored = await deps.artifacts.read('local', handle as Parameters<typeof deps.artifacts.read>[1])
    expect(JSON.parse(Buffer.from(stored!).toString())).toEqual({ path: 'values.ts', content })
    // The same bytes on every resend.
    const again = await agent.prepare({ format: wire, body, targets: [{ model: 'm', window: 16_000 }] })
    expect(again.text).toBe(turn.text)
  })
})

describe('a call that waits for its answer', () => {
  it('is never shortened: the request ends in a typed error instead', async () => {
    const huge = { path: 'a', content: 'x '.repeat(60_000) }
    const messages = [
      { role: 'user', content: 'Write it.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'write', input: huge }] },
    ]
    const body = { model: 'claude-sonnet-4-5', max_tokens: 512, messages }
    const prepared = testEngine()
      .session()
      .prepare({ format: 'anthropic-messages', body, targets: [{ model: 'm', window: 16_000 }] })
    await expect(prepared).rejects.toMatchObject({ code: 'fixed-overhead' })
  })
})
