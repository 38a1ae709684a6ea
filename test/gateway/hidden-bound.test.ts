import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { call, say, think, type Answer, type BrainTurn } from '../../src/testing/referee/index.ts'
import { stage, type Stage } from '../sdks/ways.ts'

const MODEL = 'claude-fable-5-1'
const LONG = Array.from({ length: 700 }, (_, i) => `Rule ${i}: keep module ${i % 37} apart from ${i % 11}.`).join('\n')
const output = (step: number, lines: number): string =>
  Array.from({ length: lines }, (_, i) => `${step}.${i} value_${(step * 7_919 + i * 31) % 9_973} ok`).join('\n')

interface Run {
  readonly on: Stage
  readonly declared: readonly boolean[]
}

/** An agent of many steps on a model that binds its thinking; `script` says what the model does beside calling `bash`. */
async function run(
  head: string,
  steps: number,
  lines: (step: number) => number,
  script: (turn: BrainTurn) => Answer | undefined,
): Promise<Run> {
  const on = await stage('fetch', {
    referee: {
      wire: 'anthropic-messages',
      window: 32_000,
      script: (turn) => think(`Thought ${turn.number}.`, script(turn) ?? call('bash', { step: turn.number })),
    },
    plimsoll: { window: 32_000, sql: false, sandbox: false },
  })
  const client = new Anthropic({ apiKey: 'k', baseURL: on.base, maxRetries: 0, fetch: on.fetch! })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Find the cause.' }]
  for (let step = 0; step < steps; step++) {
    const answer = await client.messages.create({
      model: MODEL,
      max_tokens: 1_500,
      system: head,
      thinking: { type: 'adaptive' } as never,
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
      messages,
    })
    messages.push({ role: 'assistant', content: answer.content })
    const uses = answer.content.filter((block) => block.type === 'tool_use')
    messages.push({
      role: 'user',
      content:
        uses.length > 0
          ? uses.map(({ id }) => ({
              type: 'tool_result' as const,
              tool_use_id: id,
              content: output(step, lines(step)),
            }))
          : 'Go on.',
    })
  }
  const declared = on.referee.log.map(({ body }) =>
    (body as { tools: { name: string }[] }).tools.some(({ name }) => name === 'recall'),
  )
  return { on, declared }
}

describe('tools of ours where thinking is bound to what stands before it', () => {
  it('come with a compaction, and no thought from before it is left behind', async () => {
    const { on, declared } = await run(
      'Be careful.',
      30,
      () => 260,
      () => undefined,
    )
    const summary = on.referee.summary()
    expect(summary).toMatchObject({ invalid: 0, overflows: 0 })
    const first = declared.indexOf(true)
    const epoch = on.events.findIndex(({ type }) => type === 'epoch-declared')
    expect(epoch).toBeGreaterThan(-1)
    expect(first).toBeGreaterThan(3)
    expect(declared.slice(first).every(Boolean)).toBe(true)
  }, 60_000)

  it('do not come with a result that is cut, whose notice then names no tool', async () => {
    const { on, declared } = await run(
      'Be careful.',
      4,
      (step) => (step === 1 ? 2_000 : 5),
      () => undefined,
    )
    expect(declared).toEqual([false, false, false, false])
    const sent = JSON.stringify(on.referee.log.at(-1)!.body)
    expect(handlesIn(sent)).toHaveLength(1)
    expect(sent).not.toContain('recall')
    expect(on.referee.summary()).toMatchObject({ invalid: 0 })
  }, 60_000)

  it('stay declared for a closing answer, which may call none', async () => {
    const { on, declared } = await run(
      LONG,
      3,
      () => 5,
      (turn) =>
        turn.number >= 2 && turn.tools.includes('recall') && turn.number <= 5
          ? call('recall', { query: 'value' })
          : turn.number === 6
            ? say('Done.')
            : undefined,
    )
    expect(declared).toEqual([true, true, true, true, true, true, true])
    const choices = on.referee.log.map(({ body }) => (body as { tool_choice?: { type: string } }).tool_choice?.type)
    expect(choices).toEqual([undefined, undefined, undefined, undefined, undefined, 'none', undefined])
    expect(on.referee.summary()).toMatchObject({ invalid: 0, overflows: 0 })
  }, 60_000)
})
