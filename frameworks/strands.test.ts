import * as strands from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollPlugin, type StrandsOptions } from '../src/adapters/strands.ts'
import {
  ANSWER,
  expectFinished,
  expectRecalled,
  expectRecovered,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  TASK,
  WINDOW,
  type Stage,
} from '../test/adapters/scenario.ts'

/** Runs the agent to its end; gives everything that it remembers. */
async function run({ referee, plimsoll }: Stage, way: 'invoke' | 'stream', options: StrandsOptions): Promise<string> {
  const agent = new strands.Agent({
    model: new OpenAIModel({
      api: 'chat',
      modelId: 'gpt-4.1',
      apiKey: 'k',
      maxTokens: MAX_OUTPUT,
      clientConfig: { fetch: referee.fetch, maxRetries: 0 },
    }),
    name: 'main',
    systemPrompt: 'Work with the tools.',
    tools: [
      strands.tool({
        name: 'read_log',
        description: 'Reads a log.',
        inputSchema: z.object({ step: z.number() }),
        callback: ({ step }) => logOf(step),
      }),
    ],
    printer: false,
    conversationManager: new strands.NullConversationManager(),
    plugins: [plimsollPlugin(plimsoll, strands, { session: 'run', ...options })],
  })
  if (way === 'stream') for await (const _ of agent.stream(TASK));
  else await agent.invoke(TASK)
  expect(JSON.stringify(agent.messages.at(-1))).toContain(ANSWER)
  return JSON.stringify(agent.messages).replaceAll('\\n', '\n')
}

describe('a Strands agent with the plugin', () => {
  // See bare.ts: what Strands 1.19 does with two calls in one answer of this API.
  const parallel = false

  it.each(['invoke', 'stream'] as const)('runs sixty tool steps in a 16k window: %s', async (way) => {
    const stage = stageFor('openai-chat', { parallel })
    expectWhole([await run(stage, way, { window: WINDOW })], { parallel })
    await expectFinished(stage, 'run')
  })

  it('brings back what is out of view', async () => {
    const stage = stageFor('openai-chat', { parallel, recalls: true })
    await run(stage, 'invoke', { window: WINDOW })
    expectRecalled(stage)
    await expectFinished(stage, 'run')
  })

  it.each(['invoke', 'stream'] as const)('recovers from a window that nobody named: %s', async (way) => {
    const stage = stageFor('openai-chat', { parallel })
    expectWhole([await run(stage, way, {})], { parallel })
    await expectRecovered(stage)
  })
})
