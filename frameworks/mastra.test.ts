import { createOpenAI } from '@ai-sdk/openai'
import { Agent, type AgentConfig } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollProcessor, type MastraOptions } from '../src/adapters/mastra.ts'
import {
  ANSWER,
  expectFinished,
  expectRecalled,
  expectRecovered,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
  type Stage,
} from '../test/adapters/scenario.ts'

/** Runs the agent to its end; gives everything that its memory holds. */
async function run({ referee, plimsoll }: Stage, way: 'generate' | 'stream', options: MastraOptions): Promise<string> {
  const memory = new Memory({ storage: new InMemoryStore(), options: { lastMessages: 1_000 } })
  const processor = plimsollProcessor(plimsoll, options)
  const agent = new Agent({
    id: 'on-call',
    name: 'On-call',
    instructions: 'Work with the tools.',
    // Its types are of another version of the same specification.
    model: createOpenAI({ apiKey: 'k', fetch: referee.fetch }).chat('gpt-4.1') as unknown as AgentConfig['model'],
    tools: {
      read_log: createTool({
        id: 'read_log',
        description: 'Reads a log.',
        inputSchema: z.object({ step: z.number() }),
        execute: async ({ step }) => logOf(step),
      }),
    },
    memory,
    inputProcessors: [processor],
    errorProcessors: [processor],
    maxProcessorRetries: 1,
  })
  const settings = {
    memory: { thread: 'run', resource: 'me' },
    maxSteps: STEPS + 2,
    modelSettings: { maxOutputTokens: MAX_OUTPUT, maxRetries: 0 },
  }
  const result = way === 'generate' ? await agent.generate(TASK, settings) : await agent.stream(TASK, settings)
  expect(await result.text).toContain(ANSWER)
  const { messages } = await memory.recall({ threadId: 'run', resourceId: 'me', perPage: false })
  return JSON.stringify(messages).replaceAll('\\n', '\n')
}

describe('a Mastra agent with the processor', () => {
  it.each(['generate', 'stream'] as const)('runs sixty tool steps in a 16k window: %s', async (way) => {
    const stage = stageFor('openai-chat')
    expectWhole([await run(stage, way, { window: WINDOW })])
    await expectFinished(stage, 'run')
  })

  it('brings back what is out of view', async () => {
    const stage = stageFor('openai-chat', { recalls: true })
    await run(stage, 'generate', { window: WINDOW })
    expectRecalled(stage)
    await expectFinished(stage, 'run')
  })

  it.each(['generate', 'stream'] as const)('recovers from a window that nobody named: %s', async (way) => {
    const stage = stageFor('openai-chat')
    expectWhole([await run(stage, way, {})])
    await expectRecovered(stage)
  })
})
