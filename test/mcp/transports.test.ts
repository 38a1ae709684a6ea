import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Plimsoll } from '../../src/index.ts'
import { startMcpHttp, type HttpMcp } from '../../src/mcp/index.ts'
import { openPlimsoll, recordsOf, talk } from './conversations.ts'

const SCOPE = { session: 'run-1' }

let folder: string
let plimsoll: Plimsoll
let handle: string
let foreign: string
let http: HttpMcp
const store = (): string => `sqlite:${join(folder, 'plimsoll.db')}`
const artifacts = (): string => `file:${join(folder, 'artifacts')}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plimsoll-mcp-'))
  plimsoll = openPlimsoll({ store: store(), artifacts: artifacts() })
  handle = await talk(plimsoll, { session: 'run-1', word: 'lantern' })
  foreign = await talk(plimsoll, { session: 'run-2', word: 'anchor' })
  http = await startMcpHttp(plimsoll, { port: 0, scope: SCOPE })
})
afterAll(async () => {
  await http.close()
  await plimsoll.close()
  await rm(folder, { recursive: true, force: true })
})

const TRANSPORTS = {
  http: () => new StreamableHTTPClientTransport(new URL(http.url)),
  stdio: () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [
        '--import',
        'tsx',
        join(import.meta.dirname, 'stdio-worker.ts'),
        store(),
        artifacts(),
        JSON.stringify(SCOPE),
      ],
    }),
}

interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly text?: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
}

/** What clients speak today, and the revision that this SDK was made for. */
const ERAS = ['legacy', { pin: '2026-07-28' }] as const
const WAYS = (['http', 'stdio'] as const).flatMap((kind) => ERAS.map((mode) => ({ kind, mode })))

describe.each(WAYS)('the official client over $kind, $mode', ({ kind, mode }) => {
  let client: Client
  beforeAll(async () => {
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(TRANSPORTS[kind]())
  })
  afterAll(() => client.close())

  const call = async (name: string, input: object = {}): Promise<Result> =>
    (await client.callTool({ name, arguments: { ...input } })) as unknown as Result
  const textOf = ({ content }: Result): string => content.map(({ text }) => text ?? '').join('\n')

  it('lists every tool with its schemas and what it does to a conversation', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'artifact_list',
      'recall',
      'artifact_grep',
      'artifact_read',
      'artifact_query',
      'artifact_run',
      'artifact_extract',
      'context_status',
      'context_compact',
      'context_pin',
    ])
    for (const { inputSchema, outputSchema, title, description } of tools) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(outputSchema).toMatchObject({ type: 'object' })
      expect(title).toBeDefined()
      expect(description).toBeDefined()
    }
    const changing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name)
    expect(changing).toEqual(['context_compact', 'context_pin'])
    expect(tools.filter(({ annotations }) => annotations?.destructiveHint !== false)).toEqual([])
    // One conversation is served: nobody is asked which.
    expect(tools.filter(({ inputSchema }) => 'session' in (inputSchema.properties ?? {}))).toEqual([])
  })

  it('calls every tool; text and structure say the same', async () => {
    const listed = await call('artifact_list')
    expect(listed.structuredContent).toMatchObject({ artifacts: [{ handle, tool: 'search' }] })
    expect(textOf(listed)).toContain(handle)

    const read = await call('artifact_read', { handle, unit: 'items', start: 1_500, count: 1 })
    expect(textOf(read)).toContain('"the lantern is green"')
    expect(read.structuredContent).toMatchObject({ text: textOf(read), handles: [handle], truncated: false })

    expect(textOf(await call('artifact_grep', { handle, pattern: 'the l\\w+ is' }))).toContain('the lantern is green')
    const counted = await call('artifact_query', {
      handle,
      sql: "SELECT count(*) AS errors FROM t WHERE level = 'error'",
    })
    expect(textOf(counted)).toMatch(/errors\n40\b/)
    expect(textOf(await call('artifact_run', { handle, code: 'data.length' }))).toContain('2000')
    expect(textOf(await call('artifact_extract', { handle, extract: 'the colour of the lantern' }))).toContain(
      'the lantern is green',
    )
    const recalled = await call('recall', { query: 'lantern' })
    expect(textOf(recalled)).toContain('Where is the lantern?')
    expect(recalled.structuredContent!['items']).toHaveLength(3)

    const status = await call('context_status')
    expect(status.structuredContent).toMatchObject({
      session: 'run-1',
      agent: 'main',
      model: 'claude-sonnet-4-5',
      used: 4_050,
      calls: 1,
    })
    expect(textOf(status)).toContain('4,050 of ')

    const { structuredContent } = await call('context_pin', { query: 'where is the lantern' })
    const [item] = structuredContent!['items'] as readonly { identity: string }[]
    expect((await call('context_pin', { item: item!.identity.slice(0, 12) })).structuredContent).toMatchObject({
      item: item!.identity,
      pinned: true,
    })
    expect((await call('context_status')).structuredContent).toMatchObject({ pins: 1 })
    await call('context_pin', { item: item!.identity, pinned: false })
    expect((await call('context_status')).structuredContent).toMatchObject({ pins: 0 })

    expect((await call('context_compact', { instructions: 'keep the colour' })).structuredContent).toMatchObject({
      status: 'with-next-request',
    })
  })

  it.each([
    ['artifact_read', {}, /artifact_read needs handle/],
    ['artifact_read', { handle: 'art_nope' }, /There is no artifact "art_nope"/],
    ['artifact_read', { handle: 7 }, /handle of artifact_read must be of type string/],
    ['artifact_read', { handle: 'x', colour: 1 }, /does not know "colour". It takes handle, unit, start, count, path/],
    ['artifact_read', { handle: 'x', unit: 'pages' }, /must be lines or bytes or items/],
    ['artifact_list', { limit: 'many' }, /limit of artifact_list must be of type integer/],
    ['recall', {}, /recall needs query/],
    ['context_status', { session: 'run-2' }, /does not know "session"/],
    ['context_pin', { item: 'zz' }, /No item begins with "zz"/],
  ])('%s with %j says what is wrong', async (name, input, message) => {
    const result = await call(name, input)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(message)
  })

  it('refuses a tool that is not there as the protocol says', async () => {
    await expect(call('artifact_delete', {})).rejects.toMatchObject({ code: -32602 })
  })

  it('opens nothing of another conversation', async () => {
    expect(textOf(await call('artifact_read', { handle: foreign }))).toContain('There is no artifact')
    expect((await call('recall', { query: 'anchor' })).structuredContent).toMatchObject({ items: [] })
    await expect(client.readResource({ uri: `plimsoll://artifact/${foreign}` })).rejects.toThrow('There is no artifact')
    await expect(client.readResource({ uri: 'plimsoll://session/run-2' })).rejects.toThrow('There is no session')
  })

  it('gives artifacts and the session as resources', async () => {
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri).sort()).toEqual([
      `plimsoll://artifact/${handle}`,
      'plimsoll://session/run-1',
    ])
    const { contents } = await client.readResource({ uri: `plimsoll://artifact/${handle}` })
    const [content] = contents as readonly { text: string; _meta: Record<string, unknown> }[]
    expect(content!.text === recordsOf('lantern')).toBe(true)
    const range = await client.readResource({ uri: `plimsoll://artifact/${handle}/bytes/10/30` })
    expect(range.contents[0]).toMatchObject({ text: content!.text.slice(10, 30) })
    const session = await client.readResource({ uri: 'plimsoll://session/run-1' })
    expect(JSON.parse((session.contents[0] as { text: string }).text)).toMatchObject({ session: 'run-1', calls: 1 })
  })

  it('hands over the conversation as a prompt', async () => {
    const { prompts } = await client.listPrompts()
    expect(prompts).toMatchObject([{ name: 'handover' }])
    const { messages } = await client.getPrompt({ name: 'handover', arguments: { focus: 'find the lantern' } })
    const { text } = messages[0]!.content as { text: string }
    expect(text).toContain('What to go on with: find the lantern')
    expect(text).toContain('- Where is the lantern?')
    expect(text).toContain('[result of search]')
    expect(text).not.toContain('anchor')
  })
})
