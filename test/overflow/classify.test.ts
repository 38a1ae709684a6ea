import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ClassifiedError, classifyProviderError } from '../../src/formats/overflow/classify.ts'

interface Case {
  readonly name: string
  readonly vendor: string
  readonly status: number | null
  readonly body: unknown
  readonly expect: Partial<ClassifiedError>
}

const folder = join(import.meta.dirname, '../fixtures/overflow')
const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case[])

const classify = ({ status, body }: Pick<Case, 'status' | 'body'>): ClassifiedError =>
  classifyProviderError({ body, ...(status !== null && { status }) })

/** Everything but the vendor: a wording that two vendors share is still told right. */
const verdict = ({ vendor: _vendor, ...rest }: ClassifiedError) => rest

describe('overflow classifier', () => {
  it('has at least 60 error bodies of every kind', () => {
    const count = (kind: string) => cases.filter((one) => one.expect.kind === kind).length
    const kinds = ['overflow', 'throttle', 'output-limit', 'body-size', 'other'].map((kind) => [kind, count(kind)])
    console.info(`overflow corpus: ${cases.length} bodies, ${kinds.map(([kind, n]) => `${n} ${kind}`).join(', ')}`)
    expect(cases.length).toBeGreaterThanOrEqual(60)
    for (const [, n] of kinds) expect(n).toBeGreaterThanOrEqual(8)
  })

  it.each(cases)('$vendor: $name', (one) => {
    expect(verdict(classify(one))).toEqual(one.expect)
  })

  it.each(cases)('$vendor: $name, as text', (one) => {
    const body = typeof one.body === 'string' ? one.body : JSON.stringify(one.body)
    expect(verdict(classify({ status: one.status, body }))).toEqual(one.expect)
  })

  it('names the vendor of the wordings that only one of them uses', () => {
    const wrong = cases
      .filter(({ vendor }) => ['llama-server', 'lm-studio', 'mistral', 'cohere', 'xai', 'fireworks'].includes(vendor))
      .filter((one) => one.expect.kind === 'overflow' && classify(one).vendor !== one.vendor)
    expect(wrong).toEqual([])
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['an empty list', []],
    ['half of a JSON text', '{"error":{"message":"prompt is too'],
    ['a list in a list', [[[[[[[[['deep']]]]]]]]]],
  ])('calls %s other', (_name, body) => {
    expect(classifyProviderError({ status: 400, body }).kind).toBe('other')
  })

  it('reads only the head of a message, so that a quoted request does not decide', () => {
    const message = `Bad request: ${'x'.repeat(10_000)} prompt is too long: 300000 tokens > 200000 maximum`
    expect(classifyProviderError({ status: 400, body: { error: { message } } }).kind).toBe('other')
  })

  it('stays quick on a huge, deep and repetitive body', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
    const wide = { error: { message: 'maximum context length is '.repeat(200_000), extra: deep } }
    expect(classifyProviderError({ status: 400, body: wide }).kind).toBe('other')
  })
})
