/**
 * An ADK agent with Plimsoll as a plugin of the runner; the events of the session stay whole.
 *
 *   npm run test:frameworks && npx tsx frameworks/examples/google-adk.ts
 */
import { BasePlugin, FunctionTool, Gemini, InMemorySessionService, LlmAgent, Runner } from '@google/adk'
import { z } from 'zod'
import { createPlimsoll } from '../../src/index.ts'
import { plimsollPlugin } from '../../src/adapters/google-adk.ts'
import { pageOfLog, vendorOf } from './vendor.ts'

const vendor = vendorOf('gemini')
const plimsoll = createPlimsoll({ store: 'memory:' })

/** Only for the example: requests go to the stand-in. */
class RefereedGemini extends Gemini {
  protected override getHttpOptions() {
    return { ...super.getHttpOptions(), fetch: vendor.fetch }
  }
}

const agent = new LlmAgent({
  name: 'main',
  model: new RefereedGemini({ model: 'gemini-2.5-pro', apiKey: 'none' }),
  generateContentConfig: { maxOutputTokens: 500 },
  tools: [
    new FunctionTool({
      name: 'read_log',
      description: 'Reads a page of the log.',
      parameters: z.object({ page: z.number() }),
      execute: ({ page }) => ({ output: pageOfLog(page) }),
    }),
  ],
})
const sessionService = new InMemorySessionService()
await sessionService.createSession({ appName: 'app', userId: 'me', sessionId: 'run-1' })
const plugins = [plimsollPlugin(plimsoll, BasePlugin, { window: 16_000 })]
const runner = new Runner({ appName: 'app', agent, sessionService, plugins })
const newMessage = { role: 'user', parts: [{ text: 'Why is the service slow?' }] }
let answer = ''
for await (const { content } of runner.runAsync({ userId: 'me', sessionId: 'run-1', newMessage }))
  answer = content?.parts?.at(-1)?.text ?? answer

const { overflows, invalid } = vendor.summary()
console.log(answer)
console.log(`${overflows} overflows, ${invalid} invalid`)
await plimsoll.close()
