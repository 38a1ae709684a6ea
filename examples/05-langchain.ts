/**
 * A LangChain agent with Plimsoll as middleware. A referee stands for the provider: it refuses what the real API refuses, and needs no key.
 *
 *   npx tsx examples/05-langchain.ts
 */
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent } from 'langchain'
import { createPlimsoll } from 'plimsoll'
import { plimsollMiddleware } from 'plimsoll/adapters/langchain'
import { call, createReferee, say } from 'plimsoll/testing'
import { z } from 'zod'

const vendor = createReferee({
  wire: 'openai-chat',
  window: 16_000,
  script: ({ number }) => (number <= 20 ? call('read_log', { page: number }) : say('The disk of node 7 is full.')),
})
const plimsoll = createPlimsoll({ store: 'memory:' })

const readLog = tool(
  ({ page }) =>
    Array.from({ length: 200 }, (_, line) => `page ${page}: node ${line % 9} answered in ${line * 7} ms`).join('\n'),
  { name: 'read_log', description: 'Reads a page of the log.', schema: z.object({ page: z.number() }) },
)

const agent = createAgent({
  model: new ChatOpenAI({ model: 'gpt-4.1', apiKey: 'none', maxTokens: 500, configuration: { fetch: vendor.fetch } }),
  tools: [readLog],
  middleware: [plimsollMiddleware(plimsoll, { window: 16_000 })],
})
const { messages } = await agent.invoke(
  { messages: [{ role: 'user', content: 'Why is the service slow?' }] },
  { configurable: { thread_id: 'run-1' }, recursionLimit: 100 },
)

const { overflows, invalid } = vendor.summary()
console.log(messages.at(-1)!.text)
console.log(`${overflows} overflows, ${invalid} invalid; ${messages.length} messages in the state, all whole`)
await plimsoll.close()
