import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { json, MESSAGE, plainUpstream, post, testProxy } from './upstream.ts'

/** A store that writes the declarations of our tools when it is told to, and everything else at once. */
function slowStore(): { readonly store: ReturnType<typeof memoryStore>; readonly write: () => void } {
  const store = memoryStore()
  let write = (): void => undefined
  const mayWrite = new Promise<void>((resolve) => (write = resolve))
  const setValue: typeof store.setValue = async (tenant, key, ...rest) => {
    if (key.startsWith('hidden-tools:')) await mayWrite
    return store.setValue(tenant, key, ...rest)
  }
  return { store: { ...store, setValue }, write }
}

/** Beside instructions like those of a coding agent one short tool is no price, and it is declared from the first request on. */
const system = 'You look after a shop, and you say what you do. '.repeat(1_400)
const tools = [{ name: 'bash', input_schema: { type: 'object' } }]
const first = [{ role: 'user', content: 'Why does it fail?' }]
const second = [...first, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'Go on.' }]
const body = (messages: readonly object[]): string =>
  JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 64, system, tools, messages })

describe('tools of ours in a request', () => {
  it('are on their way before the store has them, and the next request of the session knows of them', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { store, write } = slowStore()
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } }, { store })
    const url = `${proxy.url}/anthropic/v1/messages`
    expect((await post(url, body(first))).status).toBe(200)
    const next = post(url, body(second))
    // What was declared is part of the provider's cached prefix: the second request waits until it can be looked up.
    write()
    expect((await next).status).toBe(200)
    const declared = upstream.received.map(({ body: sent }) => (JSON.parse(String(sent)) as { tools: object[] }).tools)
    expect(declared[0]!.length).toBeGreaterThan(1)
    expect(declared[1]).toEqual(declared[0])
  })
})
