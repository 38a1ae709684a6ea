import { Agent, MemorySession, OpenAIProvider, Runner, tool, type OpenAIProviderOptions } from '@openai/agents'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollProvider, plimsollTools } from '../../src/adapters/openai-agents.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  LOGS,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
  type Stage,
} from './scenario.ts'

const readLog = tool({
  name: 'read_log',
  description: 'Reads a log.',
  parameters: z.object({ step: z.number() }),
  execute: ({ step }) => Promise.resolve(logOf(step)),
})

const providerOf = ({ referee }: Stage, useResponses: boolean): OpenAIProvider =>
  new OpenAIProvider({
    // The Agents SDK brings a copy of the package of its own; what it calls is the same in both.
    openAIClient: new OpenAI({ apiKey: 'k', maxRetries: 0, fetch: referee.fetch }) as unknown as NonNullable<
      OpenAIProviderOptions['openAIClient']
    >,
    useResponses,
  })

describe.each(['openai-chat', 'openai-responses'] as const)('an agent of the Agents SDK on %s', (wire) => {
  it.each([false, true])('runs sixty tool steps in a 16k window, streamed: %s', async (stream) => {
    const stage = stageFor(wire)
    const history = new MemorySession({ sessionId: 'run' })
    const session = stage.plimsoll.session({ id: 'run' })
    const agent = new Agent({
      name: 'On-call',
      model: 'gpt-4.1',
      instructions: 'Work with the tools.',
      tools: plimsollTools(stage.plimsoll, session, [readLog], { window: WINDOW }),
      modelSettings: { maxTokens: MAX_OUTPUT, store: false },
    })
    const modelProvider = plimsollProvider(stage.plimsoll, providerOf(stage, wire === 'openai-responses'), {
      session: history,
      window: WINDOW,
    })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const settings = { maxTurns: STEPS + 2, session: history }
    if (stream) {
      const result = await runner.run(agent, TASK, { ...settings, stream: true })
      for await (const _ of result);
      await result.completed
      expect(result.finalOutput).toBe(ANSWER)
    } else expect((await runner.run(agent, TASK, settings)).finalOutput).toBe(ANSWER)
    const items = await history.getItems()
    expect(items.filter(({ type }) => type === 'function_call')).toHaveLength(LOGS.length)
    expectWhole(items.map((item) => ('output' in item ? textOf(item.output) : '')))
    await expectFinished(stage, 'run')
  })
})

const textOf = (output: unknown): string =>
  typeof output === 'string'
    ? output
    : typeof output === 'object' && output !== null && 'text' in output
      ? String(output.text)
      : ''

describe('tools of the Agents SDK', () => {
  it('are shortened in the items of the run where it is asked for', async () => {
    const stage = stageFor('openai-chat')
    const session = stage.plimsoll.session({ id: 'run' })
    const big = tool({
      name: 'read_log',
      description: 'Reads a log.',
      parameters: z.object({ step: z.number() }),
      execute: ({ step }) => Promise.resolve(logOf(step).repeat(20)),
    })
    const agent = new Agent({
      name: 'On-call',
      model: 'gpt-4.1',
      tools: plimsollTools(stage.plimsoll, session, [big], { window: WINDOW, shortenHistory: true }),
    })
    const modelProvider = plimsollProvider(stage.plimsoll, providerOf(stage, false), { session, window: WINDOW })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const { newItems } = await runner.run(agent, TASK, { maxTurns: STEPS + 2 })
    const [first] = newItems.flatMap((item) => (item.type === 'tool_call_output_item' ? [String(item.output)] : []))
    expect(first).toMatch(/art_[0-9a-z]{26}/)
    expect(first!.length).toBeLessThan(20_000)
    await stage.plimsoll.close()
  })
})
