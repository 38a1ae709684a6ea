/**
 * An agent of the OpenAI Agents SDK behind a model provider that stays inside the window. A referee stands for the vendor: it refuses what the
 * real API refuses, and needs no key.
 *
 *   npx tsx examples/06-openai-agents.ts
 */
import { Agent, MemorySession, OpenAIProvider, Runner, tool, type OpenAIProviderOptions } from '@openai/agents'
import OpenAI from 'openai'
import { createPlimsoll } from 'plimsoll'
import { plimsollProvider, plimsollTools } from 'plimsoll/adapters/openai-agents'
import { call, createReferee, say } from 'plimsoll/testing'
import { z } from 'zod'

const vendor = createReferee({
  wire: 'openai-chat',
  window: 16_000,
  script: ({ number }) => (number <= 20 ? call('read_log', { page: number }) : say('The disk of node 7 is full.')),
})
const plimsoll = createPlimsoll({ store: 'memory:' })
const history = new MemorySession({ sessionId: 'run-1' })
const session = plimsoll.session({ id: 'run-1' })

const readLog = tool({
  name: 'read_log',
  description: 'Reads a page of the log.',
  parameters: z.object({ page: z.number() }),
  execute: async ({ page }) =>
    Array.from({ length: 200 }, (_, line) => `page ${page}: node ${line % 9} answered in ${line * 7} ms`).join('\n'),
})

const agent = new Agent({
  name: 'On-call',
  model: 'gpt-4.1',
  tools: plimsollTools(plimsoll, session, [readLog], { window: 16_000 }),
  modelSettings: { maxTokens: 500 },
})
// Stands for a provider of yours that takes no fetch.
const provider = new OpenAIProvider({
  openAIClient: new OpenAI({ apiKey: 'none', fetch: vendor.fetch }) as unknown as NonNullable<
    OpenAIProviderOptions['openAIClient']
  >,
  useResponses: false,
})
const modelProvider = plimsollProvider(plimsoll, provider, { session: history, window: 16_000 })
const runner = new Runner({ modelProvider, tracingDisabled: true })
const { finalOutput } = await runner.run(agent, 'Why is the service slow?', { maxTurns: 30, session: history })

const { overflows, invalid } = vendor.summary()
console.log(finalOutput)
console.log(
  `${overflows} overflows, ${invalid} invalid; ${(await history.getItems()).length} items in the session, all whole`,
)
await plimsoll.close()
