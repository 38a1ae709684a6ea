import * as strands from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollPlugin } from '../src/surfaces/adapters/strands.ts'
import {
  ANSWER,
  expectFinished,
  expectWhole,
  logOf,
  MAX_OUTPUT,
  stageFor,
  TASK,
  WINDOW,
} from '../test/adapters/scenario.ts'

describe('a Strands agent with the plugin', () => {
  it.each([true, false])('runs sixty tool steps in a 16k window, streamed: %s', async (stream) => {
    // See bare.ts: what Strands 1.19 does with two calls in one answer of this API.
    const parallel = false
    const stage = stageFor('openai-chat', { parallel })
    const agent = new strands.Agent({
      model: new OpenAIModel({
        api: 'chat',
        modelId: 'gpt-4.1',
        apiKey: 'k',
        maxTokens: MAX_OUTPUT,
        clientConfig: { fetch: stage.referee.fetch, maxRetries: 0 },
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
      plugins: [plimsollPlugin(stage.plimsoll, strands, { window: WINDOW, session: 'run' })],
    })
    if (stream) for await (const _ of agent.stream(TASK));
    else await agent.invoke(TASK)
    expect(JSON.stringify(agent.messages.at(-1))).toContain(ANSWER)
    expectWhole([JSON.stringify(agent.messages).replaceAll('\\n', '\n')], { parallel })
    await expectFinished(stage, 'run')
  })
})
