import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollOptions } from '../../src/index.ts'

/** Tokens of it in o200k: one for each word. */
const text = (words: number): string => Array.from({ length: words }, () => ' hello').join('')
const WINDOW = 20_000

async function prepared(model: string, words: number, options: PlimsollOptions) {
  const plimsoll = createPlimsoll({ store: 'memory:', ...options })
  const turn = await plimsoll.session({ id: 's' }).prepare({
    format: 'openai-chat',
    body: {
      model,
      max_tokens: 1_000,
      messages: [
        { role: 'user', content: 'Read this.' },
        { role: 'assistant', content: text(words) },
        { role: 'user', content: 'And?' },
      ],
    },
    targets: [{ model, window: WINDOW }],
  })
  await plimsoll.close()
  return turn
}

describe('an interval that does not say on which side of high water a request stands', () => {
  it('is refined by the exact tokenizer, which saves an epoch that was not needed', async () => {
    const words = 17_900
    const rough = await prepared('gpt-4o', words, { exactTokens: false })
    expect(rough.report.loadBefore).toBeGreaterThan(0.97 * rough.limit.tokens)
    expect(rough.report.newEpoch).toBeDefined()
    const sharp = await prepared('gpt-4o', words, {})
    expect(sharp.report.newEpoch).toBeUndefined()
    expect(sharp.report.untouched).toBe(true)
    expect(Math.abs(sharp.load.count.tokens - words)).toBeLessThan(40)
    expect(sharp.load.count.high - sharp.load.count.low).toBeLessThan(10)
  })

  it('is refined by the provider where the caller allows it and there is no tokenizer', async () => {
    const asked: string[] = []
    const countTokens: NonNullable<PlimsollOptions['countTokens']> = async ({ body, target }) => {
      asked.push(target.model)
      return body.length / 6
    }
    const turn = await prepared('claude-sonnet-4-5', 17_000, { countTokens })
    expect(asked).toEqual(['claude-sonnet-4-5'])
    expect(turn.load.count).toMatchObject({ source: 'provider' })
    expect(turn.report.newEpoch).toBeUndefined()
  })

  it('asks nobody where the estimate decides, and goes on without an answer', async () => {
    let asked = 0
    const countTokens = async (): Promise<number> => {
      asked++
      throw new Error('no network')
    }
    expect((await prepared('claude-sonnet-4-5', 2_000, { countTokens })).verdict.kind).toBe('proceed')
    expect(asked).toBe(0)
    expect((await prepared('claude-sonnet-4-5', 17_000, { countTokens })).verdict.kind).toBe('proceed')
    expect(asked).toBe(1)
  })
})
