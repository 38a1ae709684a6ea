import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { plimsollMiddleware } from '../../src/adapters/langchain.ts'
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
} from './scenario.ts'

const readLog = tool(({ step }) => logOf(step), {
  name: 'read_log',
  description: 'Reads a log.',
  schema: z.object({ step: z.number() }),
})

const textsOf = (messages: readonly BaseMessage[]): string[] =>
  messages.flatMap((message) => (ToolMessage.isInstance(message) ? [message.text] : []))

describe.each([false, true])('a LangChain agent with the middleware, Responses API: %s', (useResponsesApi) => {
  it.each(['invoke', 'stream'] as const)('runs sixty tool steps in a 16k window: %s', async (way) => {
    const stage = stageFor(useResponsesApi ? 'openai-responses' : 'openai-chat')
    const model = new ChatOpenAI({
      model: 'gpt-4.1',
      apiKey: 'k',
      maxRetries: 0,
      maxTokens: MAX_OUTPUT,
      useResponsesApi,
      zdrEnabled: true,
      streaming: way === 'stream',
      configuration: { fetch: stage.referee.fetch },
    })
    const agent = createAgent({
      model,
      tools: [readLog],
      systemPrompt: 'You are an on-call engineer.',
      checkpointer: new MemorySaver(),
      middleware: [plimsollMiddleware(stage.plimsoll, { window: WINDOW })],
    })
    const config = { configurable: { thread_id: 'run' }, recursionLimit: 4 * STEPS }
    const input = { messages: [new HumanMessage(TASK)] }
    if (way === 'invoke') await agent.invoke(input, config)
    else for await (const _ of await agent.stream(input, { ...config, streamMode: 'messages' }));
    const { messages } = (await agent.graph.getState(config)).values as { messages: BaseMessage[] }
    expect(messages.at(-1)!.text).toBe(ANSWER)
    expect(messages).toHaveLength(1 + STEPS + LOGS.length + 1)
    expect(messages.filter((message) => AIMessage.isInstance(message))).toHaveLength(STEPS + 1)
    expectWhole(textsOf(messages))
    await expectFinished(stage, 'run')
  })
})

describe('the LangChain middleware', () => {
  it('shortens large results in the state where it is asked to', async () => {
    const stage = stageFor('openai-chat')
    const big = tool(({ step }) => logOf(step).repeat(20), { name: 'read_log', schema: z.object({ step: z.number() }) })
    const agent = createAgent({
      model: new ChatOpenAI({ model: 'gpt-4.1', apiKey: 'k', configuration: { fetch: stage.referee.fetch } }),
      tools: [big],
      middleware: [plimsollMiddleware(stage.plimsoll, { window: WINDOW, session: 'run', shortenHistory: true })],
    })
    const { messages } = await agent.invoke({ messages: [new HumanMessage(TASK)] }, { recursionLimit: 4 * STEPS })
    const [first] = textsOf(messages)
    expect(first).toMatch(/art_[0-9a-z]{26}/)
    expect(first!.length).toBeLessThan(20_000)
    await stage.plimsoll.close()
  })
})
