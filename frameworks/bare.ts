/**
 * Strands and ADK by themselves, in a window where everything fits: what they keep of an answer with two calls at its fifth step. The tests of
 * their adapters leave such answers out where a framework loses them without us.
 *
 *   npx tsx frameworks/bare.ts
 */
import { FunctionTool, Gemini, InMemorySessionService, LlmAgent, Runner, StreamingMode } from '@google/adk'
import * as strands from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { z } from 'zod'
import { call, calls, createReferee, say, type Wire } from '../src/testing/referee/index.ts'

const refereeOf = (wire: Wire) =>
  createReferee({
    wire,
    window: 1_000_000,
    script: ({ number }) => {
      if (number > 6) return say('Done.')
      const one = { name: 'read_log', input: { step: number } }
      return number === 5
        ? calls([one, { ...one, input: { step: 1_005 } }], 'Two.')
        : call('read_log', { step: number })
    },
  })

const chat = refereeOf('openai-chat')
const ran: number[] = []
const agent = new strands.Agent({
  model: new OpenAIModel({
    api: 'chat',
    modelId: 'gpt-4.1',
    apiKey: 'k',
    maxTokens: 500,
    clientConfig: { fetch: chat.fetch },
  }),
  tools: [
    strands.tool({
      name: 'read_log',
      description: 'Reads a log.',
      inputSchema: z.object({ step: z.number() }),
      callback: ({ step }) => String(ran.push(step)),
    }),
  ],
  printer: false,
  conversationManager: new strands.NullConversationManager(),
})
await agent.invoke('Go.')
console.log('Strands ran', ran.join(' '), JSON.stringify(chat.summary()))

for (const streamingMode of [StreamingMode.NONE, StreamingMode.SSE]) {
  const vendor = refereeOf('gemini')
  class RefereedGemini extends Gemini {
    protected override getHttpOptions() {
      return { ...super.getHttpOptions(), fetch: vendor.fetch }
    }
  }
  const steps: number[] = []
  const adk = new LlmAgent({
    name: 'main',
    model: new RefereedGemini({ model: 'gemini-2.5-pro', apiKey: 'k' }),
    tools: [
      new FunctionTool({
        name: 'read_log',
        description: 'Reads a log.',
        parameters: z.object({ step: z.number() }),
        execute: ({ step }) => ({ output: String(steps.push(step)) }),
      }),
    ],
  })
  const sessionService = new InMemorySessionService()
  await sessionService.createSession({ appName: 'app', userId: 'me', sessionId: 'run' })
  const runner = new Runner({ appName: 'app', agent: adk, sessionService })
  const newMessage = { role: 'user', parts: [{ text: 'Go.' }] }
  const errors: string[] = []
  for await (const event of runner.runAsync({
    userId: 'me',
    sessionId: 'run',
    newMessage,
    runConfig: { streamingMode },
  }))
    if (event.errorMessage !== undefined) errors.push(event.errorMessage)
  console.log('ADK', streamingMode, 'ran', steps.join(' '), errors.join(' '), JSON.stringify(vendor.summary()))
}
