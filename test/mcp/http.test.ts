import { once } from 'node:events'
import { request } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { Plimsoll } from '../../src/index.ts'
import type { ArtifactStore } from '../../src/ports/artifact-store.ts'
import { startMcpHttp, type HttpMcp, type McpHttpOptions } from '../../src/mcp/index.ts'
import { openPlimsoll, talk } from './conversations.ts'

const closings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close()
})

const newArtifacts = (): ArtifactStore => memoryArtifacts({ secret: Buffer.alloc(32, 9) })

const open = (artifacts = newArtifacts()): Plimsoll => {
  const plimsoll = openPlimsoll({ store: memoryStore(), artifacts })
  closings.push(() => plimsoll.close())
  return plimsoll
}

async function serve(plimsoll: Plimsoll, options: McpHttpOptions = {}): Promise<HttpMcp> {
  const served = await startMcpHttp(plimsoll, { port: 0, ...options })
  closings.push(() => served.close())
  return served
}

/** What clients speak today, and the revision that the SDK was made for. */
const ERAS = ['legacy', { pin: '2026-07-28' }] as const

async function connect(
  url: string,
  headers: Record<string, string> = {},
  mode: (typeof ERAS)[number] = ERAS[1],
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  closings.push(() => client.close())
  return client
}

const call = async (client: Client, name: string, input: object = {}) =>
  (await client.callTool({ name, arguments: { ...input } })) as unknown as {
    readonly isError?: boolean
    readonly content: readonly { readonly text: string }[]
    readonly structuredContent?: Readonly<Record<string, unknown>>
  }

describe('one agent of a conversation', () => {
  const agentsOf = async (plimsoll: Plimsoll) => {
    const [main, sub] = [
      await talk(plimsoll, { session: 'run-1', agent: 'main', word: 'lantern', isRaw: true }),
      await talk(plimsoll, { session: 'run-1', agent: 'sub', word: 'anchor', isRaw: true }),
    ]
    return { main, sub }
  }

  it.each(['main', 'sub', 'stranger'] as const)('%s opens and lists what is its own', async (agent) => {
    const plimsoll = open()
    const handles = await agentsOf(plimsoll)
    const { url } = await serve(plimsoll, { scope: { session: 'run-1', agent } })
    const client = await connect(url)
    const listed = await call(client, 'artifact_list')
    const own = agent === 'stranger' ? [] : [handles[agent]]
    expect((listed.structuredContent!['artifacts'] as { handle: string }[]).map(({ handle }) => handle)).toEqual(own)
    for (const handle of Object.values(handles)) {
      expect((await call(client, 'artifact_read', { handle })).isError === true).toBe(!own.includes(handle))
      expect((await call(client, 'artifact_grep', { handle, pattern: '.' })).isError === true).toBe(
        !own.includes(handle),
      )
    }
    for (const [of, word] of [
      ['main', 'lantern'],
      ['sub', 'anchor'],
    ] as const) {
      const { items } = (await call(client, 'recall', { query: word })).structuredContent!
      expect((items as unknown[]).length > 0, word).toBe(of === agent)
    }
  })

  it('does not get what a store of 0.2.0 gives to no agent, and is told so', async () => {
    const sessions = memoryStore()
    const artifacts = newArtifacts()
    const plimsoll = openPlimsoll({ store: sessions, artifacts })
    closings.push(() => plimsoll.close())
    await agentsOf(plimsoll)
    const { handle } = await artifacts.put('local', Buffer.from('an output of who knows which agent'))
    const edit = { v: 1, at: 1, type: 'edit', key: 'k', text: 'shorter', reason: 'large', handle } as const
    await sessions.append('local', 'run-1', [edit])
    const { url } = await serve(plimsoll, { scope: { session: 'run-1', agent: 'main' } })
    const client = await connect(url)
    expect(await call(client, 'artifact_read', { handle })).toMatchObject({ isError: true })
    const listed = await call(client, 'artifact_list')
    expect(listed.content[0]!.text).not.toContain(handle)
    expect(listed.content[0]!.text).toContain('1 output of this conversation')
    const whole = await connect((await serve(plimsoll, { scope: { session: 'run-1' } })).url)
    expect(await call(whole, 'artifact_read', { handle })).not.toHaveProperty('isError', true)
  })
})

describe('clients with keys of their own', () => {
  it('see what belongs to their key and never meet', async () => {
    const plimsoll = open()
    const tenantOf = (key: string) =>
      plimsoll.gateway.tenantOf((name) => (name === 'authorization' ? `Bearer ${key}` : undefined), '/')
    const handles = {
      ann: await talk(plimsoll, { tenant: await tenantOf('ann'), session: 'same-name', word: 'lantern' }),
      bob: await talk(plimsoll, { tenant: await tenantOf('bob'), session: 'same-name', word: 'anchor' }),
    }
    const { url } = await serve(plimsoll, { scope: 'credential' })
    for (const [key, own, foreign, secret] of [
      ['ann', handles.ann, handles.bob, 'anchor'],
      ['bob', handles.bob, handles.ann, 'lantern'],
    ] as const) {
      const client = await connect(url, { authorization: `Bearer ${key}` })
      const listed = await call(client, 'artifact_list')
      expect(listed.structuredContent).toMatchObject({ artifacts: [{ handle: own }] })
      expect((await client.listResources()).resources.map(({ uri }) => uri).sort()).toEqual([
        `plimsoll://artifact/${own}`,
        'plimsoll://session/same-name',
      ])
      for (const name of ['artifact_read', 'artifact_query'])
        expect(await call(client, name, { handle: foreign })).toMatchObject({ isError: true })
      for (const [name, more] of [
        ['artifact_grep', { pattern: '.' }],
        ['artifact_run', { code: '1' }],
        ['artifact_extract', { extract: 'all' }],
      ] as const)
        expect(await call(client, name, { handle: foreign, ...more })).toMatchObject({ isError: true })
      // A handle of one's own opens no other beside it.
      expect(await call(client, 'artifact_query', { handle: own, also: [foreign] })).toMatchObject({ isError: true })
      const seen = [
        await call(client, 'recall', { query: secret }),
        await call(client, 'recall', { query: secret, session: 'same-name' }),
        await call(client, 'context_pin', { session: 'same-name' }),
        await call(client, 'context_status', { session: 'same-name' }),
        await client.getPrompt({ name: 'handover', arguments: { session: 'same-name' } }),
        await client.readResource({ uri: 'plimsoll://session/same-name' }),
      ]
      // What was asked for comes back in the answer that nothing was found.
      expect(JSON.stringify(seen.slice(2))).not.toContain(secret)
      expect(seen[0]).toMatchObject({ structuredContent: { items: [] } })
      expect(seen[1]).toMatchObject({ structuredContent: { items: [] } })
      await expect(client.readResource({ uri: `plimsoll://artifact/${foreign}` })).rejects.toThrow('no artifact')
    }
  })

  it('are one conversation where they name it, and nobody without a key', async () => {
    const plimsoll = open()
    const tenant = await plimsoll.gateway.tenantOf((name) => (name === 'x-api-key' ? 'ann' : undefined), '/')
    await talk(plimsoll, { tenant, session: 'run-1', word: 'lantern' })
    const other = await talk(plimsoll, { tenant, session: 'run-2', word: 'anchor' })
    const { url } = await serve(plimsoll, { scope: 'credential' })
    const client = await connect(url, { 'x-api-key': 'ann', 'x-plimsoll-session': 'run-1' })
    expect(await call(client, 'artifact_read', { handle: other })).toMatchObject({ isError: true })
    await expect(connect(url)).rejects.toThrow()
    const refused = await fetch(url, { method: 'POST', body: '{}' })
    expect(refused.status).toBe(401)
    expect(await refused.text()).toContain('Send the key that your model calls use')
  })
})

describe('a whole tenant', () => {
  it('has to be told which conversation is meant, and which agent where there are several', async () => {
    const plimsoll = open()
    await talk(plimsoll, { session: 'run-1', agent: 'one', word: 'lantern' })
    await talk(plimsoll, { session: 'run-1', agent: 'two', word: 'rudder' })
    const client = await connect((await serve(plimsoll)).url)
    const said = async (input: object) => (await call(client, 'context_status', input)).content[0]!.text
    expect(await said({})).toContain('context_status needs session')
    expect(await said({ session: 'run-9' })).toContain('There is no session "run-9"')
    expect(await said({ session: 'run-1' })).toContain('2 agents work in this session; agent is missing')
    expect(await said({ session: 'run-1', agent: 'three' })).toContain('Known: "one", "two"')
    expect(await said({ session: 'run-1', agent: 'two' })).toContain('4,050 of ')
    // A question about a session that is not there leaves none behind.
    expect((await plimsoll.archive.sessions()).map(({ session }) => session)).toEqual(['run-1'])
  })
})

/** As a browser or a stranger would ask; fetch does not let a program set these headers. */
function ask(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode!)
      },
    )
    sent.on('error', reject)
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  })
}

describe('who may call', () => {
  const accept = 'application/json, text/event-stream'

  it('is no web page, under no name but its own', async () => {
    const { url } = await serve(open(), { allowedOrigins: ['https://mine.example'], allowedHosts: ['mcp.internal'] })
    expect(await ask(url, { accept })).toBe(200)
    expect(await ask(url, { accept, host: 'evil.example' })).toBe(403)
    expect(await ask(url, { accept, origin: 'https://evil.example' })).toBe(403)
    expect(await ask(url, { accept, 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await ask(url, { accept, origin: 'https://mine.example' })).toBe(200)
    expect(await ask(url, { accept, host: 'mcp.internal' })).toBe(200)
  })

  it('needs the token where there is one, in any of the places where a client can put it', async () => {
    const { url } = await serve(open(), { token: 'open sesame' })
    expect(await ask(url, { accept })).toBe(401)
    expect(await ask(url, { accept, authorization: 'Bearer wrong' })).toBe(401)
    expect(await ask(url, { accept, authorization: 'Bearer open sesame' })).toBe(200)
    expect(await ask(url, { accept, 'x-plimsoll-token': 'open sesame' })).toBe(200)
    expect(await ask(url.replace('/mcp', '/t/open sesame/mcp').replaceAll(' ', '%20'), { accept })).toBe(401)
    await expect(startMcpHttp(open(), { host: '0.0.0.0', port: 0 })).rejects.toMatchObject({ code: 'bad-config' })
  })

  it('is told where the server is', async () => {
    const { url } = await serve(open())
    expect((await fetch(url.replace('/mcp', '/elsewhere'))).status).toBe(404)
    expect(await (await fetch(url.replace('/mcp', '/healthz'))).json()).toEqual({ ok: true })
  })
})

/** A store in which reading can be stopped at the n-th piece. */
function gatedArtifacts() {
  const store = newArtifacts()
  let reads = 0
  let last = Infinity
  let blocked: () => void = () => undefined
  let release: () => void = () => undefined
  let opened = Promise.resolve()
  const gated: ArtifactStore = {
    ...store,
    async read(...asked) {
      if (++reads >= last) {
        blocked()
        await opened
      }
      return store.read(...asked)
    },
  }
  return {
    store: gated,
    /** Resolves when the n-th read from now on waits. */
    closeAt(count: number): Promise<void> {
      reads = 0
      last = count
      opened = new Promise((resolve) => (release = resolve))
      return new Promise((resolve) => (blocked = resolve))
    },
    open: () => release(),
    reads: () => reads,
  }
}

async function putLines(plimsoll: Plimsoll, megabytes: number): Promise<string> {
  const output = 'a line of a long log that says little\n'.repeat((megabytes * 2 ** 20) / 38)
  return (await plimsoll.session({ id: 'long' }).toolResult({ tool: 'cat', callId: 'c1', output })).artifact!
}

describe.each(ERAS)('a long call of a client of %j', (era) => {
  it('tells how far it is', async () => {
    const plimsoll = open()
    const handle = await putLines(plimsoll, 8)
    const client = await connect((await serve(plimsoll)).url, {}, era)
    const shares: number[] = []
    await client.callTool(
      { name: 'artifact_grep', arguments: { handle, pattern: 'nothing like it' } },
      { onprogress: ({ progress, total }) => shares.push(progress / total!) },
    )
    expect(shares.length).toBeGreaterThanOrEqual(7)
    expect(shares).toEqual([...new Set(shares)].sort((a, b) => a - b))
  })

  it('stops reading when the client cancels it', async () => {
    const artifacts = gatedArtifacts()
    const plimsoll = open(artifacts.store)
    const handle = await putLines(plimsoll, 8)
    let told: AbortSignal | undefined
    const { archive } = plimsoll
    const observed: Plimsoll = {
      ...plimsoll,
      archive: {
        ...archive,
        readers(owner) {
          const readers = archive.readers(owner)
          return {
            ...readers,
            call(asked, options) {
              told = options?.signal
              return readers.call(asked, options)
            },
          }
        },
      },
    }
    const { url } = await serve(observed)
    const client = await connect(url, {}, era)
    // Another client's notice about a call with the same number is none of ours.
    const other = await connect(url, {}, era)
    const leaving = new AbortController()
    const blocked = artifacts.closeAt(3)
    const grep = client.callTool(
      { name: 'artifact_grep', arguments: { handle, pattern: 'nothing like it' } },
      { signal: leaving.signal },
    )
    const refused = expect(grep).rejects.toThrow()
    await blocked
    for (let requestId = 0; requestId < 5; requestId++)
      await other.notification({ method: 'notifications/cancelled', params: { requestId } })
    expect(told!.aborted).toBe(false)
    leaving.abort('changed my mind')
    await refused
    if (!told!.aborted) await once(told!, 'abort')
    artifacts.open()
    // Whatever still runs of the call has its turn before the next one is answered.
    await call(client, 'artifact_list')
    expect(artifacts.reads()).toBe(3)
  })
})
