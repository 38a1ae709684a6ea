import { createOpenAI } from '@ai-sdk/openai'
import { Agent, type AgentConfig } from '@mastra/core/agent'
import { InMemoryStore } from '@mastra/core/storage'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollProcessor } from '../src/surfaces/adapters/mastra.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  STEPS,
  TASK,
  WINDOW,
} from '../test/adapters/scenario.ts'

describe('a Mastra agent with the processor', () => {
  it.each(['generate', 'stream'] as const)('runs sixty tool steps in a 16k window: %s', async (way) => {
    const stage = stageFor('openai-chat')
    const memory = new Memory({ storage: new InMemoryStore(), options: { lastMessages: 1_000 } })
    const agent = new Agent({
      id: 'on-call',
      name: 'On-call',
      instructions: 'Work with the tools.',
      // Its types are of another version of the same specification.
      model: createOpenAI({ apiKey: 'k', fetch: stage.referee.fetch }).chat(
        'gpt-4.1',
      ) as unknown as AgentConfig['model'],
      tools: {
        read_log: createTool({
          id: 'read_log',
          description: 'Reads a log.',
          inputSchema: z.object({ step: z.number() }),
          execute: async ({ step }) => logOf(step),
        }),
      },
      memory,
      inputProcessors: [plimsollProcessor(stage.plimsoll, { window: WINDOW })],
    })
    const settings = {
      memory: { thread: 'run', resource: 'me' },
      maxSteps: STEPS + 2,
      modelSettings: { maxOutputTokens: MAX_OUTPUT, maxRetries: 0 },
    }
    const result = way === 'generate' ? await agent.generate(TASK, settings) : await agent.stream(TASK, settings)
    expect(await result.text).toContain(ANSWER)
    const { messages } = await memory.recall({ threadId: 'run', resourceId: 'me', perPage: false })
    expectWhole([JSON.stringify(messages).replaceAll('\\n', '\n')])
    await expectFinished(stage, 'run')
  })
})
