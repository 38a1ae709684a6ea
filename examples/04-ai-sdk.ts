/**
 * The AI SDK with a model whose requests no `fetch` of yours sees: language-model middleware. A referee stands for the provider: it refuses what
 * the real API refuses, and needs no key.
 *
 *   npx tsx examples/04-ai-sdk.ts
 */
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, tool, wrapLanguageModel } from 'ai'
import { createPlimsoll } from 'plimsoll'
import { plimsollMiddleware, plimsollTools } from 'plimsoll/adapters/ai-sdk'
import { call, createReferee, say } from 'plimsoll/testing'

const vendor = createReferee({
  wire: 'openai-chat',
  window: 16_000,
  script: ({ number }) => (number <= 20 ? call('read_log', { page: number }) : say('The disk of node 7 is full.')),
})
const plimsoll = createPlimsoll({ store: 'memory:' })
const session = plimsoll.session({ id: 'run-1' })

const readLog = tool({
  description: 'Reads a page of the log.',
  inputSchema: jsonSchema<{ page: number }>({ type: 'object', properties: { page: { type: 'number' } } }),
  execute: ({ page }) =>
    Array.from({ length: 200 }, (_, line) => `page ${page}: node ${line % 9} answered in ${line * 7} ms`).join('\n'),
})

const { text, response } = await generateText({
  model: wrapLanguageModel({
    model: createOpenAI({ apiKey: 'none', fetch: vendor.fetch }).chat('gpt-4.1'),
    middleware: plimsollMiddleware(session, { sdk: 6, window: 16_000 }),
  }),
  tools: plimsollTools(plimsoll, session, { read_log: readLog }, { window: 16_000 }),
  maxOutputTokens: 500,
  stopWhen: stepCountIs(30),
  prompt: 'Why is the service slow?',
})

const { overflows, invalid } = vendor.summary()
console.log(text)
console.log(`${overflows} overflows, ${invalid} invalid; ${response.messages.length} messages, all whole`)
await plimsoll.close()
