/**
 * An agent loop of your own: `toolResult` after a tool, `prepare` before the model, `record` after it.
 *
 *   npx tsx examples/02-three-verbs.ts
 */
import { createPlimsoll } from 'plimsoll'
import { call, say, startReferee } from 'plimsoll/testing'

const MODEL = 'claude-sonnet-4-5'
const vendor = await startReferee({
  wire: 'anthropic-messages',
  window: 16_000,
  script: ({ number }) => (number < 12 ? call('read_log', { page: number }) : say('The disk of node 7 is full.')),
})
const plimsoll = createPlimsoll({ store: 'memory:' })
const session = plimsoll.session({ id: 'run-42' })
const messages: object[] = [{ role: 'user', content: 'Why is the service slow?' }]
const tools = [{ name: 'read_log', description: 'Reads a page of the log.', input_schema: { type: 'object' } }]

for (;;) {
  const body = { model: MODEL, max_tokens: 1_000, tools, messages }
  const turn = await session.prepare({
    format: 'anthropic-messages',
    body,
    targets: [{ model: MODEL, window: 16_000 }],
  })
  const response = await fetch(`${vendor.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'none', 'anthropic-version': '2023-06-01' },
    body: turn.text,
  })
  if (!response.ok) throw new Error(await response.text())
  const answer = (await response.json()) as { content: { type: string; id: string; name: string; text: string }[] }
  await session.record({ turn: turn.id, format: 'anthropic-messages', response: answer })
  messages.push({ role: 'assistant', content: answer.content })
  const calls = answer.content.filter(({ type }) => type === 'tool_use')
  if (calls.length === 0) {
    console.log(answer.content[0]!.text)
    break
  }
  const results = calls.map(async ({ id, name }) => {
    const output = Array.from({ length: 300 }, (_, line) => `node ${line % 9} answered in ${line * 7} ms`).join('\n')
    const shown = await session.toolResult({ tool: name, callId: id, output, model: MODEL })
    return { type: 'tool_result', tool_use_id: id, content: shown.text }
  })
  messages.push({ role: 'user', content: await Promise.all(results) })
}

const { overflows, invalid } = vendor.summary()
const { used, limit, epoch } = await session.status()
console.log(`${overflows} overflows, ${invalid} invalid; ${used} of ${limit} tokens, epoch ${epoch ?? 'none'}`)
await plimsoll.close()
await vendor.close()
