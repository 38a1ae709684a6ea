/**
 * Any SDK that takes a `fetch` stays inside its window. Here plain fetch stands for the SDK, and a referee for the vendor: it
 * refuses what the real API refuses, and needs no key.
 *
 *   npx tsx examples/01-any-sdk.ts
 */
import { createPlimsoll } from 'plimsoll'
import { startReferee } from 'plimsoll/testing'

const vendor = await startReferee({ wire: 'openai-chat', window: 8_000 })
const plimsoll = createPlimsoll({ store: 'memory:', window: 8_000 })

// new OpenAI({ fetch: plimsoll.fetch })
const messages: { role: string; content: string }[] = []
for (let turn = 1; turn <= 40; turn++) {
  messages.push({ role: 'user', content: `Turn ${turn}: ${'the quick brown fox jumps over the lazy dog '.repeat(20)}` })
  const response = await plimsoll.fetch(`${vendor.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({ model: 'gpt-4o', messages, max_tokens: 500 }),
  })
  if (!response.ok) throw new Error(await response.text())
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  messages.push({ role: 'assistant', content: choices[0]!.message.content })
}

const { overflows, invalid, peakInputTokens } = vendor.summary()
console.log(`40 turns: ${overflows} overflows, ${invalid} invalid, largest prompt ${peakInputTokens} of 8000 tokens`)
await plimsoll.close()
await vendor.close()
