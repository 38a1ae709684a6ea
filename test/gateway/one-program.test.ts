import { describe, expect, it } from 'vitest'
import { createPlimsoll, type Plimsoll } from '../../src/index.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'

const MODEL = 'gpt-4.1'
const lines = (count: number): string => toolOutput(3, count)

const history = (result: string): object => ({
  model: MODEL,
  max_tokens: 500,
  tools: [{ type: 'function', function: { name: 'read_log', parameters: { type: 'object' } } }],
  messages: [
    { role: 'user', content: 'Why is checkout slow?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read_log', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: result },
  ],
})

const ask = (plimsoll: Plimsoll, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  plimsoll.fetch('http://referee.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-a', ...headers },
    body: JSON.stringify(body),
  })

function program(options: Parameters<typeof createPlimsoll>[0] = {}) {
  const referee = createReferee({ wire: 'openai-chat', window: 16_000, script: () => say('Done.') })
  return { referee, plimsoll: createPlimsoll({ store: 'memory:', window: 16_000, fetch: referee.fetch, ...options }) }
}

describe('fetch and sessions of one program', () => {
  it('are one tenant: a session has what was asked under its name, and opens what that took out', async () => {
    const { plimsoll } = program()
    expect((await ask(plimsoll, history(lines(900)), { 'x-plimsoll-session': 'run-1' })).status).toBe(200)
    const session = plimsoll.session({ id: 'run-1' })
    await expect.poll(async () => (await session.status()).used).toBeGreaterThan(0)
    const audit = await session.audit()
    expect(audit.length).toBeGreaterThan(0)
    const [artifact] = await plimsoll.artifacts.list()
    expect(Buffer.from((await plimsoll.artifacts.read(artifact!.handle))!).toString()).toBe(lines(900))
    await plimsoll.close()
  })

  it('weigh a tool result against the room that the last request left', async () => {
    const { plimsoll } = program()
    const session = plimsoll.session({ id: 'run-1' })
    await (await ask(plimsoll, history(lines(20)), { 'x-plimsoll-session': 'run-1' })).text()
    await expect.poll(async () => (await session.status()).used).toBeGreaterThan(0)
    const { limit } = await session.status()
    const { report } = await session.toolResult({ tool: 'read_log', callId: 'c2', output: lines(20) })
    expect(report.limit.tokens).toBe(limit)
    await plimsoll.close()
  })

  it('act on one branch, whichever key pays for a request', async () => {
    const { plimsoll } = program()
    const session = plimsoll.session({ id: 'run-1' })
    const named = { 'x-plimsoll-session': 'run-1' }
    await (await ask(plimsoll, history(lines(20)), named)).text()
    await expect.poll(async () => (await session.status()).turns).toBe(1)
    expect((await session.items()).map(({ kind }) => kind)).toEqual(['user', 'call', 'result'])
    await (await ask(plimsoll, history(lines(20)), { ...named, authorization: 'Bearer sk-b' })).text()
    await expect.poll(async () => (await session.status()).turns).toBe(2)
    const keys = [...plimsoll.ledger.split('key').keys()]
    expect(keys).toEqual([expect.stringMatching(/^k_/), expect.stringMatching(/^k_/)])
    expect(keys.map((key) => plimsoll.ledger.totals({ key }).calls)).toEqual([1, 1])
    await plimsoll.close()
  })

  it('are kept apart by credential where the program asks for it', async () => {
    const { plimsoll } = program({ tenants: 'credential' })
    await ask(plimsoll, history(lines(900)), { 'x-plimsoll-session': 'run-1' })
    expect(await plimsoll.artifacts.list()).toEqual([])
    await plimsoll.close()
  })
})

describe('a tool result before or after a request', () => {
  it.each([
    ['no word on the window', {}],
    ['the same window', { window: 16_000 }],
    ['the same model', { model: MODEL }],
    ['both', { model: MODEL, window: 16_000 }],
  ])('has the limit of prepare with %s', async (_, named) => {
    const { plimsoll } = program()
    const session = plimsoll.session({ id: 'run-1' })
    const body = history(lines(20))
    const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: MODEL, window: 16_000 }] })
    const { report } = await session.toolResult({ tool: 'read_log', callId: 'c2', output: lines(20), ...named })
    expect(report.limit.tokens).toBe(turn.limit.tokens)
    await plimsoll.close()
  })

  it('has the limit that prepare would have on another model or window', async () => {
    const { plimsoll } = program()
    const session = plimsoll.session({ id: 'run-1' })
    const body = history(lines(20))
    await session.prepare({ format: 'openai-chat', body })
    const { report } = await session.toolResult({
      tool: 'read_log',
      output: lines(20),
      model: 'gpt-4o',
      window: 12_000,
    })
    const other = await session.prepare({ format: 'openai-chat', body, targets: [{ model: 'gpt-4o', window: 12_000 }] })
    expect(report.limit).toEqual(other.limit)
    await plimsoll.close()
  })
})

describe('a model call in an API format that is not read', () => {
  it.each([
    ['https://ai-gateway.vercel.sh/v4/ai/language-model', 'Vercel AI Gateway'],
    ['https://generativelanguage.googleapis.com/v1beta/interactions', 'Gemini Interactions'],
  ])('passes unchanged and is said once: %s', async (url, name) => {
    const sent: string[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      fetch: (_, init) => {
        sent.push(init?.body as string)
        return Promise.resolve(new Response('{}'))
      },
    })
    const warnings: Error[] = []
    const note = (warning: Error): void => void warnings.push(warning)
    process.on('warning', note)
    for (const body of ['{"a":1}', '{"b":2}']) await plimsoll.fetch(url, { method: 'POST', body })
    await plimsoll.fetch('https://example.test/upload', { method: 'POST', body: 'x' })
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', note)
    expect(sent).toEqual(['{"a":1}', '{"b":2}', 'x'])
    expect(warnings.map(({ message }) => message.includes(name))).toEqual([true])
    await plimsoll.close()
  })
})
