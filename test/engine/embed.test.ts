import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

/** Texts are alike in meaning where they speak of the same of these. */
const MEANINGS = [/dog|puppy|hound/i, /car|vehicle|drive/i, /rain|weather|storm/i]

const servers: (() => void)[] = []
afterEach(() => servers.splice(0).forEach((close) => close()))

/** Answers as OpenAI's `/v1/embeddings` does, out of order. */
async function embeddings({ status = 200 } = {}) {
  const inputs: string[] = []
  const keys: (string | undefined)[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { model, input } = JSON.parse(body) as { model: string; input: string[] }
    inputs.push(...input)
    keys.push(request.headers.authorization)
    const data = input.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: [...MEANINGS.map((meaning) => (meaning.test(text) ? 1 : 0)), 0.1],
    }))
    const isRight = request.url === '/v1/embeddings' && model === 'nomic-embed-text'
    response.writeHead(isRight ? status : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: data.toReversed() }))
  })
  servers.push(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { inputs, keys, embed: { model: 'nomic-embed-text', baseUrl: `http://127.0.0.1:${port}/v1/` } }
}

const talk = Array.from({ length: 30 }, (_, i) => [
  {
    role: 'user',
    content: i === 4 ? 'My hound is called Argos, key sk-ant-api03-AAAAAAAAAAAAAAAAAAAA.' : `Number ${i} is next.`,
  },
  { role: 'assistant', content: `Noted, ${i}.` },
]).flat()

async function asked(options: Parameters<typeof createPlimsoll>[0], queries: readonly string[], messages = talk) {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', telemetry: false, ...options })
  const session = plimsoll.session({ id: 'run' })
  const body = { model: 'gpt-4o', messages: [...messages, { role: 'user', content: 'Go on.' }] }
  await session.prepare({ format: 'openai-chat', body, targets: [{ model: 'gpt-4o' }] })
  const answers: string[] = []
  for (const query of queries) answers.push((await (await session.scope()).recall({ query })).text)
  await plimsoll.close()
  return answers
}

describe('search by meaning', () => {
  const query = 'the puppy'

  it('finds what no word of the question names, by an endpoint and by a function', async () => {
    const { embed } = await embeddings()
    const [without] = await asked({}, [query])
    const [by] = await asked({ embed }, [query])
    const [own] = await asked(
      { embed: async (texts) => texts.map((text) => [/puppy|hound/.test(text) ? 1 : 0, 0.1]) },
      [query],
    )
    expect(without).not.toContain('Argos')
    expect(by!.split('\n')[0]).toContain('Argos')
    expect(own!.split('\n')[0]).toContain('Argos')
  })

  it('keeps what the words find', async () => {
    const { embed } = await embeddings()
    const [answer] = await asked({ embed }, ['puppy Noted 17'])
    expect(answer).toContain('Noted, 17.')
    expect(answer).toContain('Argos')
  })

  it('embeds a message once, and without its secrets', async () => {
    const { embed, inputs } = await embeddings()
    await asked({ embed, redact: true }, [query, query, 'car'])
    expect(inputs.filter((text) => text === 'Number 7 is next.')).toHaveLength(1)
    expect(inputs.some((text) => text.includes('hound'))).toBe(true)
    expect(inputs.join('\n')).not.toContain('sk-ant-api03')
  })

  it('searches by words where the endpoint fails, and says so', async () => {
    const { embed } = await embeddings({ status: 500 })
    const events: string[] = []
    const [answer] = await asked({ embed, onEvent: (event) => events.push(JSON.stringify(event)) }, ['Argos'])
    expect(answer).toContain('My hound is called Argos')
    expect(events.some((event) => event.includes('"degraded"') && event.includes('embed'))).toBe(true)
  })

  it('sends the key that its variable names, and refuses to start without it', async () => {
    const { embed, keys } = await embeddings()
    process.env['EMBED_TEST_KEY'] = 'k-1'
    await asked({ embed: { ...embed, apiKeyEnv: 'EMBED_TEST_KEY' } }, [query])
    delete process.env['EMBED_TEST_KEY']
    expect(keys[0]).toBe('Bearer k-1')
    await expect(asked({ embed: { ...embed, apiKeyEnv: 'EMBED_TEST_KEY' } }, [query])).rejects.toThrow(
      'EMBED_TEST_KEY is not set',
    )
  })
})
