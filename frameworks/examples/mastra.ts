/**
 * A Mastra agent with Plimsoll as a processor; its memory stays whole.
 *
 *   npm run test:frameworks && npx tsx frameworks/examples/mastra.ts
 */
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, type AgentConfig } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { createPlimsoll } from '../../src/index.ts'
import { plimsollProcessor } from '../../src/adapters/mastra.ts'
import { pageOfLog, vendorOf } from './vendor.ts'

const vendor = vendorOf('openai-chat')
const plimsoll = createPlimsoll({ store: 'memory:' })
const agent = new Agent({
  id: 'on-call',
  name: 'On-call',
  instructions: 'Work with the tools.',
  model: createOpenAI({ apiKey: 'none', fetch: vendor.fetch }).chat('gpt-4.1') as unknown as AgentConfig['model'],
  tools: {
    read_log: createTool({
      id: 'read_log',
      description: 'Reads a page of the log.',
      inputSchema: z.object({ page: z.number() }),
      execute: async ({ page }) => pageOfLog(page),
    }),
  },
  inputProcessors: [plimsollProcessor(plimsoll, { session: 'run-1', window: 16_000 })],
})
const settings = { maxSteps: 30, modelSettings: { maxOutputTokens: 500 } }
const { text } = await agent.generate('Why is the service slow?', settings)

const { overflows, invalid } = vendor.summary()
console.log(text)
console.log(`${overflows} overflows, ${invalid} invalid`)
await plimsoll.close()
