/**
 * The hooks of the OpenCode plugin, called as OpenCode calls them. In a project the last line of `.opencode/plugin/plimsoll.ts` is
 * `export const Plimsoll = plimsollPlugin(plimsoll)`.
 *
 *   npx tsx examples/07-opencode.ts
 */
import { createPlimsoll } from 'plimsoll'
import { plimsollPlugin } from 'plimsoll/adapters/opencode'
import { createReferee, say } from 'plimsoll/testing'

const vendor = createReferee({ wire: 'openai-chat', window: 16_000, script: () => say('Hello.') })
const plimsoll = createPlimsoll({ store: 'memory:', window: 16_000, fetch: vendor.fetch })
const hooks = await plimsollPlugin(plimsoll)()

const config = { provider: { local: { options: { baseURL: 'http://127.0.0.1:8080/v1' } } } }
await hooks.config(config)
const output = { headers: {} }
await hooks['chat.headers']({ sessionID: 'ses_1', agent: 'build' }, output)

const answer = await plimsoll.fetch(`${config.provider.local.options.baseURL}/chat/completions`, {
  method: 'POST',
  headers: { ...output.headers, 'content-type': 'application/json', authorization: 'Bearer none' },
  body: JSON.stringify({ model: 'gpt-4.1', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }),
})
await answer.text()
const { overflows, invalid } = vendor.summary()
const [booked] = plimsoll.ledger.sessions()
console.log(`${overflows} overflows, ${invalid} invalid; session ${booked?.session}`)
await plimsoll.close()
