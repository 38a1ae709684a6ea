import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { classifyProviderError, type ErrorKind } from '../../src/formats/overflow/classify.ts'
import { lessonOf } from '../../src/engine/learning/learned-limits.ts'

interface Case {
  readonly name: string
  readonly status: number | null
  readonly body: unknown
  readonly expect: { readonly kind: ErrorKind; readonly limit?: number }
}

const folder = join(import.meta.dirname, '../fixtures/overflow')
const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case[])
const classify = ({ status, body }: Case) => classifyProviderError({ body, ...(status !== null && { status }) })

describe('C4: recorded error bodies', () => {
  it('are told apart without one mistake', () => {
    expect(cases.length).toBeGreaterThanOrEqual(60)
    const wrong = cases.filter((one) => classify(one).kind !== one.expect.kind)
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  it('teach a limit only where something was too large: the one they name', () => {
    const sent = { tokens: 90_000, outputReserve: 1_000, bytes: 5_000_000 }
    for (const one of cases) {
      const { kind, limit, input } = classify(one)
      if (kind !== 'overflow' && kind !== 'body-size') continue
      const lesson = lessonOf(
        { kind, ...(limit !== undefined && { limit }), ...(input !== undefined && { input }) },
        sent,
      )
      if (kind === 'body-size') expect(lesson.retry).toEqual({ bodyBytes: expect.any(Number) })
      // A size without a limit says how large that prompt was, and nothing about others.
      else if ((limit ?? 0) < 1_024 && input !== undefined) expect(lesson).toMatchObject({ retry: {}, counted: input })
      else expect(lesson.retry).toEqual({ window: expect.any(Number) })
      // Only a number that the refusal names, and that our own count is above, is learned for everybody.
      const isWindow = kind === 'body-size' || (limit ?? 0) >= 1_024
      const above =
        limit !== undefined && isWindow && limit < (kind === 'overflow' ? sent.tokens + sent.outputReserve : sent.bytes)
      const named = kind === 'overflow' ? { window: limit } : { bodyBytes: limit }
      expect(lesson.learned, one.name).toEqual(above ? named : undefined)
      if (kind === 'overflow' && (limit ?? 0) >= 1_024) expect(lesson.retry!.window).toBeLessThanOrEqual(limit!)
    }
  })
})
