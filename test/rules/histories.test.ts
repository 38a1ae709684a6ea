import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Violation } from '../../src/core/codec.ts'
import { checkAnthropicMessages } from '../../src/formats/anthropic-messages/rules.ts'
import { checkGemini } from '../../src/formats/gemini/rules.ts'
import { checkOpenAiChat } from '../../src/formats/openai-chat/rules.ts'
import { checkOpenAiResponses } from '../../src/formats/openai-responses/rules.ts'

/** A conversation as numbers: how many calls each step has, 0 for plain text. */
type Steps = readonly number[]

interface Wire {
  readonly name: string
  /** Messages or items of the history, one list entry for each thing that can be lost. */
  readonly write: (steps: Steps) => object[]
  readonly check: (history: readonly object[]) => readonly Violation[]
  readonly isCall: (entry: object) => boolean
  readonly isResult: (entry: object) => boolean
}

const ids = (step: number, count: number): string[] =>
  Array.from({ length: count }, (_unused, at) => `call${step}x${at}`)
const has = (entry: object, needle: string): boolean => JSON.stringify(entry).includes(needle)
const answered = (step: number): object[] => [
  { role: 'assistant', content: `Done ${step}.` },
  { role: 'user', content: 'More.' },
]

const WIRES: readonly Wire[] = [
  {
    name: 'anthropic-messages',
    write: (steps) => [
      { role: 'user', content: 'Go' },
      ...steps.flatMap((count, step) =>
        count === 0
          ? answered(step)
          : [
              {
                role: 'assistant',
                content: ids(step, count).map((id) => ({ type: 'tool_use', id, name: 'bash', input: {} })),
              },
              {
                role: 'user',
                content: ids(step, count).map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })),
              },
            ],
      ),
    ],
    check: (messages) => checkAnthropicMessages({ model: 'claude-sonnet-4-6', max_tokens: 10, messages }),
    isCall: (entry) => has(entry, '"tool_use"'),
    isResult: (entry) => has(entry, '"tool_result"'),
  },
  {
    name: 'openai-chat',
    write: (steps) => [
      { role: 'user', content: 'Go' },
      ...steps.flatMap((count, step) =>
        count === 0
          ? answered(step)
          : [
              {
                role: 'assistant',
                content: null,
                tool_calls: ids(step, count).map((id) => ({
                  id,
                  type: 'function',
                  function: { name: 'bash', arguments: '{}' },
                })),
              },
              ...ids(step, count).map((id) => ({ role: 'tool', tool_call_id: id, content: 'ok' })),
            ],
      ),
    ],
    check: (messages) => checkOpenAiChat({ model: 'gpt-5', messages }),
    isCall: (entry) => has(entry, '"tool_calls"'),
    isResult: (entry) => has(entry, '"tool"'),
  },
  {
    name: 'openai-responses',
    write: (steps) => [
      { role: 'user', content: 'Go' },
      ...steps.flatMap((count, step) =>
        count === 0
          ? answered(step)
          : [
              ...ids(step, count).map((call_id) => ({ type: 'function_call', call_id, name: 'bash', arguments: '{}' })),
              ...ids(step, count).map((call_id) => ({ type: 'function_call_output', call_id, output: 'ok' })),
            ],
      ),
    ],
    check: (input) => checkOpenAiResponses({ model: 'gpt-5', input }),
    isCall: (entry) => has(entry, '"function_call"'),
    isResult: (entry) => has(entry, '"function_call_output"'),
  },
  {
    name: 'gemini',
    write: (steps) => [
      { role: 'user', parts: [{ text: 'Go' }] },
      ...steps.flatMap((count, step): object[] =>
        count === 0
          ? [
              { role: 'model', parts: [{ text: 'Done.' }] },
              { role: 'user', parts: [{ text: 'More.' }] },
            ]
          : [
              {
                role: 'model',
                parts: ids(step, count).map((id) => ({ functionCall: { id, name: 'bash', args: {} } })),
              },
              {
                role: 'user',
                parts: ids(step, count).map((id) => ({ functionResponse: { id, name: 'bash', response: {} } })),
              },
            ],
      ),
    ],
    check: (contents) => checkGemini({ contents }, { model: 'gemini-2.5-pro' }),
    isCall: (entry) => has(entry, '"functionCall"'),
    isResult: (entry) => has(entry, '"functionResponse"'),
  },
]

const SEED = 4_141
const steps = fc.array(fc.nat(4), { minLength: 1, maxLength: 12 })

describe.each(WIRES)('histories of $name', ({ write, check, isCall, isResult }) => {
  it('are valid when every call is answered', () => {
    console.info(`valid histories: seed ${SEED}`)
    fc.assert(
      fc.property(steps, (counts) => {
        expect(check(write(counts))).toEqual([])
      }),
      { seed: SEED, numRuns: 1_000 },
    )
  })

  it('are refused when any one call or result is lost', () => {
    console.info(`broken histories: seed ${SEED}`)
    const property = fc.property(steps, fc.nat(10_000), (counts, pick) => {
      const history = write(counts)
      const losable = history.flatMap((entry, index) => (isCall(entry) || isResult(entry) ? [index] : []))
      fc.pre(losable.length > 0)
      const lost = losable[pick % losable.length]
      expect(check(history.filter((_entry, index) => index !== lost))).not.toEqual([])
    })
    fc.assert(property, { seed: SEED, numRuns: 1_000 })
  })
})

// The other two wires look a call up by its id, or read contents of one role in a row as one turn.
describe.each(WIRES.slice(0, 2))('positions in $name', ({ write, check }) => {
  it('count: a result behind the next question is refused although its call is there', () => {
    const history = write([1])
    const moved = [...history.slice(0, -1), ...write([0]).slice(1), ...history.slice(-1)]
    expect(check(history)).toEqual([])
    expect(check(moved)).not.toEqual([])
  })
})
