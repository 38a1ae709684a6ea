import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { startProxy } from '../../src/gateway/proxy.ts'
import { wireOf, type WireFormat } from '../../src/formats/registry.ts'
import { call, createReferee, say } from '../../src/testing/referee/index.ts'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { toolOutput, WAYS, type Way } from '../sdks/ways.ts'

const STEPS = 40
const GOOGLE = '/v1/projects/p-1/locations/europe-west1/publishers'
const PARAMETERS = { type: 'object', properties: { step: { type: 'number' } } }

interface Host {
  readonly name: string
  readonly wire: WireFormat
  readonly path: (stream: boolean) => string
  readonly headers: Readonly<Record<string, string>>
  readonly rest: (stream: boolean) => object
  readonly task: object
  /** Where the vendor's own API has the same. */
  readonly origin: (stream: boolean) => string
}

/** Clouds that serve a vendor's bodies below paths of their own, with tokens of their own. */
const HOSTS: readonly Host[] = [
  {
    name: 'Claude on Vertex',
    wire: 'anthropic-messages',
    path: (stream) =>
      `${GOOGLE}/anthropic/models/claude-sonnet-4-6@20260217:${stream ? 'streamRawPredict' : 'rawPredict'}`,
    headers: { authorization: 'Bearer ya29.token' },
    rest: (stream) => ({
      anthropic_version: 'vertex-2023-10-16',
      max_tokens: 500,
      stream,
      tools: [{ name: 'read_log', input_schema: PARAMETERS }],
    }),
    task: { role: 'user', content: 'Read all logs.' },
    origin: () => '/v1/messages',
  },
  {
    name: 'Gemini on Vertex',
    wire: 'gemini',
    path: (stream) =>
      `${GOOGLE}/google/models/gemini-2.5-pro:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: { authorization: 'Bearer ya29.token' },
    rest: () => ({ tools: [{ functionDeclarations: [{ name: 'read_log', parameters: PARAMETERS }] }] }),
    task: { role: 'user', parts: [{ text: 'Read all logs.' }] },
    origin: (stream) => `/v1beta/models/gemini-2.5-pro:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  },
  {
    name: 'a deployment of Azure',
    wire: 'openai-chat',
    path: () => '/openai/deployments/our-gpt/chat/completions?api-version=2026-01-01',
    headers: { 'api-key': 'azure-key' },
    rest: (stream) => ({
      stream,
      max_completion_tokens: 500,
      tools: [{ type: 'function', function: { name: 'read_log', parameters: PARAMETERS } }],
    }),
    task: { role: 'user', content: 'Read all logs.' },
    origin: () => '/v1/chat/completions',
  },
  {
    name: 'the Responses API of Azure',
    wire: 'openai-responses',
    path: () => '/openai/v1/responses',
    headers: { authorization: 'Bearer entra.token' },
    rest: (stream) => ({
      stream,
      model: 'our-gpt',
      store: false,
      max_output_tokens: 500,
      tools: [{ type: 'function', name: 'read_log', parameters: PARAMETERS, strict: false }],
    }),
    task: { role: 'user', content: 'Read all logs.' },
    origin: () => '/v1/responses',
  },
]

/** A cloud in front of a referee: its path names what the vendor's body would, and its token is no key of the vendor's. */
function cloud(host: Host) {
  const referee = createReferee({
    wire: host.wire,
    window: 16_000,
    // The model stands in the path.
    profile: host.wire === 'anthropic-messages' ? 'vertex' : undefined,
    script: ({ number }) => (number < STEPS ? call('read_log', { step: number }) : say('Done.')),
  })
  const seen: { readonly path: string; readonly credential: string | undefined }[] = []
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const [name = ''] = Object.keys(host.headers)
    seen.push({ path: pathname + search, credential: request.headers.get(name) ?? undefined })
    const body = await request.text()
    const isStream = pathname.includes('stream') || body.includes('"stream":true')
    return referee.fetch(`http://vendor.test${host.origin(isStream)}`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer k',
        'x-api-key': 'k',
        'x-goog-api-key': 'k',
        'anthropic-version': '2023-06-01',
      },
      body: host.wire === 'openai-chat' ? body.replace('{', '{"model":"gpt-4.1",') : body,
    })
  }
  return { referee, seen, fetch }
}

async function through(way: Way, { fetch }: ReturnType<typeof cloud>) {
  const plimsoll = createPlimsoll({ store: 'memory:', ...(way === 'fetch' && { fetch }) })
  if (way === 'fetch') return { base: 'https://cloud.test', send: plimsoll.fetch, close: () => plimsoll.close() }
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
      const answer = await fetch(`http://cloud.test${incoming.url}`, {
        method: 'POST',
        headers,
        body: Buffer.concat(chunks),
      })
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { cloud: url } })
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await proxy.close()
    await plimsoll.close()
  }
  return { base: `${proxy.url}/cloud`, send: globalThis.fetch, close }
}

describe.each(HOSTS)('$name', (host) => {
  const cases = WAYS.flatMap((way) => [false, true].map((stream) => ({ way, stream })))

  it.each(cases)('runs forty steps in 16k through $way (streamed: $stream)', async ({ way, stream }) => {
    const at = cloud(host)
    const { base, send, close } = await through(way, at)
    const { codec, framing, steps } = wireOf(host.wire)
    const history: object[] = [host.task]
    let text = ''
    for (let step = 1; step <= STEPS; step++) {
      const response = await send(base + host.path(stream), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...host.headers },
        body: JSON.stringify({ ...host.rest(stream), [steps.list]: history }),
      })
      expect(response.status).toBe(200)
      const bytes = new Uint8Array(await response.arrayBuffer())
      const reducer = codec.stream()
      if (stream) for (const event of framing.parser().push(bytes)) reducer.push(event)
      const body = stream
        ? reducer.body()
        : (JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, unknown>)
      const parts = steps.partsOf(body)
      const results = parts
        .flatMap((part) => steps.callOf(part, () => true) ?? [])
        .map((made) => steps.resultOf(made, toolOutput(step, 16)))
      history.push(...steps.continuation(parts, results))
      text = codec
        .readResponse(body)
        .items.map((item) => item.text)
        .join('')
    }
    await close()
    expect(text).toBe('Done.')
    expect(at.referee.summary()).toMatchObject({ answered: STEPS, overflows: 1, invalid: 0 })
    // The cloud's own path and token, with each request.
    expect(new Set(at.seen.map(({ path }) => path))).toEqual(new Set([host.path(stream)]))
    expect(new Set(at.seen.map(({ credential }) => credential))).toEqual(new Set(Object.values(host.headers)))
  })
})
