/**
 * A Strands agent with Plimsoll as a plugin; `agent.messages` stays whole.
 *
 *   npm run test:frameworks && npx tsx frameworks/examples/strands.ts
 */
import * as strands from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { z } from 'zod'
import { createPlimsoll } from '../../src/index.ts'
import { plimsollPlugin } from '../../src/adapters/strands.ts'
import { pageOfLog, vendorOf } from './vendor.ts'

const vendor = vendorOf('openai-chat')
const plimsoll = createPlimsoll({ store: 'memory:' })
const agent = new strands.Agent({
  model: new OpenAIModel({
    api: 'chat',
    modelId: 'gpt-4.1',
    apiKey: 'none',
    maxTokens: 500,
    clientConfig: { fetch: vendor.fetch },
  }),
  tools: [
    strands.tool({
      name: 'read_log',
      description: 'Reads a page of the log.',
      inputSchema: z.object({ page: z.number() }),
      callback: ({ page }) => pageOfLog(page),
    }),
  ],
  printer: false,
  conversationManager: new strands.NullConversationManager(),
  plugins: [plimsollPlugin(plimsoll, strands, { session: 'run-1', window: 16_000 })],
})
await agent.invoke('Why is the service slow?')

const { overflows, invalid } = vendor.summary()
console.log(`${overflows} overflows, ${invalid} invalid; ${agent.messages.length} messages, all whole`)
await plimsoll.close()
