import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { wireOf } from '../../src/formats/registry.ts'
import { call, say, startReferee, type RunningReferee, type Script } from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'
import { closeLater, testProxy, type TestProxy } from './upstream.ts'

const TURNS = 40
const WINDOW = 4_096
const RULE = 'RULE-4711: answer in one line.'
const TOOLS = [{ type: 'function', function: { name: 'log', parameters: { type: 'object' } } }]

type Message = Readonly<Record<string, unknown>>

async function server(script: Script, window = WINDOW): Promise<RunningReferee> {
  const referee = await startReferee({ wire: 'ollama-chat', window, script })
  closeLater(() => referee.close())
  return referee
}

const proxyTo = (referee: RunningReferee, settings: Parameters<typeof testProxy>[1] = {}): Promise<TestProxy> =>
  testProxy({ upstreams: { ollama: referee.url } }, settings)

/** One call of the model, read as Ollama's clients read it: line by line. */
async function ask(url: string, body: object): Promise<{ message: Message; lines: readonly Message[] }> {
  const response = await fetch(`${url}/ollama/api/chat`, { method: 'POST', body: JSON.stringify(body) })
  expect(response.status, await response.clone().text()).toBe(200)
  expect(response.headers.get('content-type')).toContain('ndjson')
  const lines = (await response.text())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Message)
  const messages = lines.map((line) => line['message'] as Message)
  const calls = messages.flatMap((one) => (one['tool_calls'] as readonly object[] | undefined) ?? [])
  const content = messages.map((one) => one['content']).join('')
  return { message: { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }, lines }
}

/** Forty turns of a client that resends everything and knows nothing of windows; all of it comes to several times what fits. */
async function session(url: string, options?: object): Promise<string> {
  const messages: Message[] = [
    { role: 'system', content: RULE },
    { role: 'user', content: 'Find out why checkout is slow.' },
  ]
  for (let turn = 1; ; turn++) {
    const { message } = await ask(url, { model: 'qwen-local', messages, tools: TOOLS, ...(options && { options }) })
    messages.push(message)
    const calls = (message['tool_calls'] as readonly { id: string }[] | undefined) ?? []
    if (calls.length === 0) return String(message['content'])
    for (const { id } of calls) {
      messages.push({ role: 'tool', tool_name: 'log', tool_call_id: id, content: toolOutput(turn, 12) })
    }
  }
}

const forty: Script = ({ number }) => (number < TURNS ? call('log', { step: number }) : say('The pool was halved.'))

describe('a session of 40 turns with Ollama in a context of 4,096', () => {
  it('is kept within num_ctx from the first request on', async () => {
    // The server would take more: the request says what it wants.
    const referee = await server(forty, 131_072)
    const { proxy, events } = await proxyTo(referee, { tools: false })
    expect(await session(proxy.url, { num_ctx: WINDOW, num_predict: 200 })).toBe('The pool was halved.')
    expect(referee.summary()).toMatchObject({ answered: TURNS, invalid: 0 })
    expect(referee.log.map(({ truncatedTokens }) => truncatedTokens).filter((lost) => lost > 0)).toEqual([])
    for (const { inputTokens, body } of referee.log) {
      expect(inputTokens).toBeLessThanOrEqual(WINDOW - 200)
      expect(JSON.stringify(body)).toContain(RULE)
    }
    expect(events.filter(({ type }) => type === 'epoch-declared').length).toBeGreaterThan(0)
    expect(events.filter(({ type }) => type === 'window-learned')).toEqual([])
  })

  it('is noticed to be cut where nobody said how much fits, and whole again from then on', async () => {
    const referee = await server(forty)
    const { proxy, events } = await proxyTo(referee, { tools: false })
    expect(await session(proxy.url)).toBe('The pool was halved.')
    expect(referee.summary()).toMatchObject({ answered: TURNS, invalid: 0 })
    const cut = referee.log.flatMap(({ truncatedTokens }, i) => (truncatedTokens > 0 ? [i] : []))
    expect(cut.length).toBeGreaterThan(0)
    const warned = events.filter((event) => event.type === 'warning' && event.topic === 'silent-truncation')
    expect(warned.length).toBeGreaterThan(0)
    expect(events.filter(({ type }) => type === 'window-learned').length).toBeGreaterThan(0)
    // Once it is known nothing is lost any more, for the rest of the session.
    expect(cut.at(-1)! - cut[0]!).toBeLessThan(cut.length)
    expect(cut.at(-1)).toBeLessThan(TURNS / 2)
    expect(JSON.stringify(referee.log.at(-1)!.body)).toContain(RULE)
  })
})

describe('steps that an Ollama client never sees', () => {
  it('are answered, taken out of the stream, and put back when the client goes on', async () => {
    const long = Array.from({ length: 4_000 }, (_, i) => `line ${i} ${i === 2_345 ? 'FATAL pool exhausted' : 'fine'}`)
    const script: Script = ({ number, body }) => {
      const [handle] = handlesIn(JSON.stringify(body))
      if (number === 1) return call('log', { step: 1 }, 'Reading. ')
      if (number === 2) return call('artifact_grep', { handle: handle!, pattern: 'FATAL' }, 'Looking closer. ')
      return say(JSON.stringify(body).includes('FATAL pool exhausted') ? `Found it ${number}.` : 'Lost.')
    }
    const referee = await server(script, 32_768)
    const { proxy } = await proxyTo(referee)
    const options = { num_ctx: 32_768 }
    const messages: Message[] = [{ role: 'user', content: 'Why?' }]
    const first = await ask(proxy.url, { model: 'qwen-local', messages, tools: TOOLS, options })
    const [asked] = first.message['tool_calls'] as readonly { id: string }[]
    messages.push(first.message, { role: 'tool', tool_name: 'log', tool_call_id: asked!.id, content: long.join('\n') })
    const second = await ask(proxy.url, { model: 'qwen-local', messages, tools: TOOLS, options })
    expect(second.message).toEqual({ role: 'assistant', content: 'Looking closer. Found it 3.' })
    expect(second.lines.filter(({ done }) => done === true).length).toBe(1)
    messages.push(second.message, { role: 'user', content: 'Sure?' })
    const third = await ask(proxy.url, { model: 'qwen-local', messages, tools: TOOLS, options })
    expect(third.message['content']).toBe('Found it 4.')
    expect(JSON.stringify(referee.log.at(-1)!.body)).toContain('artifact_grep')
    expect(referee.summary()).toMatchObject({ invalid: 0 })
  })
})

describe('Ollama behind a client of another wire', () => {
  it('gets the window of its place, and its lines come back as the client’s events', async () => {
    const referee = await server(() => say('Hello from a line.'), 16_384)
    const { codec, framing, routes, endpoint } = wireOf('anthropic-messages')
    const place = { url: referee.url, wire: 'ollama-chat', model: 'qwen-local', window: 8_192 }
    const { proxy } = await testProxy({ upstreams: { [endpoint.name]: place } })
    const response = await fetch(`${proxy.url}/${endpoint.name}${routes.path('m', true)}`, {
      method: 'POST',
      headers: endpoint.headers('key'),
      body: JSON.stringify({
        model: 'm',
        max_tokens: 50,
        stream: true,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    })
    const [parser, reducer] = [framing.parser(), codec.stream()]
    for (const event of [...parser.push(await response.text()), ...parser.end()]) reducer.push(event)
    expect(reducer.response().items.map(({ text }) => text)).toEqual(['Hello from a line.'])
    expect(referee.log[0]!.body).toMatchObject({ stream: true, options: { num_ctx: 8_192, num_predict: 50 } })
  })
})
