import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RuleOptions, Violation } from '../../src/core/codec.ts'
import { checkAnthropicMessages } from '../../src/formats/anthropic-messages/rules.ts'
import { checkGemini } from '../../src/formats/gemini/rules.ts'
import { checkOpenAiChat } from '../../src/formats/openai-chat/rules.ts'
import { checkOpenAiResponses } from '../../src/formats/openai-responses/rules.ts'
import { anthropicCases } from './cases/anthropic-messages.ts'
import { geminiCases } from './cases/gemini.ts'
import { openAiChatCases } from './cases/openai-chat.ts'
import { openAiResponsesCases } from './cases/openai-responses.ts'
import type { RuleCase } from './case.ts'

type Check = (body: unknown, options?: RuleOptions) => readonly Violation[]
type Cases = Readonly<Record<string, RuleCase | readonly RuleCase[]>>

const WIRES: readonly { wire: string; check: Check; cases: Cases; history: string }[] = [
  { wire: 'anthropic-messages', check: checkAnthropicMessages, cases: anthropicCases, history: 'messages' },
  { wire: 'openai-chat', check: checkOpenAiChat, cases: openAiChatCases, history: 'messages' },
  { wire: 'openai-responses', check: checkOpenAiResponses, cases: openAiResponsesCases, history: 'input' },
  { wire: 'gemini', check: checkGemini, cases: geminiCases, history: 'contents' },
]

const PROFILE = {
  profile: 'mistral,bedrock,vertex,openai,reasoning-required,reasoning-forbidden,no-empty-text',
  model: 'gemini-3-pro',
}
const SEED = 20_261_115

const DEEP: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))

/** Objects that throw when something makes a string of them. */
const HOSTILE = { toString: 1, valueOf: 2 }

/** Every place in a body, replaced by something that does not belong there. */
function* mutants(body: unknown, intruder: unknown): Generator {
  if (typeof body !== 'object' || body === null) return
  for (const key of Object.keys(body)) {
    const copy: Record<string, unknown> = Array.isArray(body)
      ? ([...body] as unknown as Record<string, unknown>)
      : { ...body }
    const child = copy[key]
    copy[key] = intruder
    yield copy
    for (const inner of mutants(child, intruder)) {
      const outer: Record<string, unknown> = Array.isArray(body)
        ? ([...body] as unknown as Record<string, unknown>)
        : { ...body }
      outer[key] = inner
      yield outer
    }
  }
}

describe.each(WIRES)('rules of $wire on bad input', ({ check, cases, history }) => {
  const bodies = Object.values(cases).flatMap((one) => [one].flat().flatMap(({ good, bad }) => [good, bad]))

  it.each([undefined, null, 7, 'text', true, [], {}, HOSTILE])('takes %j for no request', (body) => {
    expect(check(body, PROFILE).length).toBeGreaterThan(0)
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['a number', -1],
    ['a hostile object', HOSTILE],
    ['a list', [[[]]]],
    ['deep nesting', DEEP],
  ])('never throws with %s in any place', (_name, intruder) => {
    const deep = intruder === DEEP
    let tried = 0
    for (const body of bodies) {
      for (const mutant of mutants(body, intruder)) {
        tried += 1
        // A deep body costs its depth each time it is walked; every 150th place is enough for it.
        if (!deep || tried % 150 === 0) check(mutant, PROFILE)
      }
    }
    expect(tried).toBeGreaterThan(300)
  })

  it('never throws on any JSON', () => {
    console.info(`rules on any JSON: seed ${SEED}`)
    const value = fc.jsonValue({ maxDepth: 4 })
    const property = fc.property(value, value, value, (one, two, three) => {
      const body = {
        model: 'claude-opus-4-6',
        [history]: [one, { role: 'user', content: two }, { type: 'reasoning', parts: three }],
        tools: two,
        system: three,
      }
      for (const violation of check(body, PROFILE)) expect(violation.message).not.toBe('')
    })
    fc.assert(property, { seed: SEED, numRuns: 1_000 })
  })

  it('stays linear in the number of messages, and keeps its report short', () => {
    const broken: Record<string, object> = {
      messages: { role: 'tool', tool_call_id: 'x', content: [] },
      input: { type: 'function_call_output', call_id: 'x', output: '' },
      contents: { role: 'user', parts: [{ functionResponse: { name: 'x' } }] },
    }
    const many = Array.from({ length: 300_000 }, () => broken[history])
    const violations = check({ model: 'm', max_tokens: 1, [history]: many }, PROFILE)
    expect(violations.length).toBeGreaterThan(0)
    expect(violations.length).toBeLessThanOrEqual(100)
  })

  it('looks through 50 MB of text', () => {
    const text = 'word '.repeat(10_000_000)
    const message = { role: 'user', content: text, parts: [{ text }] }
    const body = { model: 'gpt-5', max_tokens: 1, [history]: [message] }
    expect(check(body)).toEqual([])
  })
})
