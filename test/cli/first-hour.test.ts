import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, startReferee } from '../../src/testing/referee/index.ts'
import { BINARY, cleanEnvironment, plimsoll, temporaryHome } from './support/binary.ts'

const CLAUDE = '0b6f3c1e-2f5a-4a51-9a8e-1f2d3c4b5a69'
const PROXIED = `claude-code-${CLAUDE}`
const FOLDERS = ['chatted', 'proxied', 'both', 'codex'] as const

let home: Awaited<ReturnType<typeof temporaryHome>>
let last = ''
const folder = (name: string): string => join(home.path, name)

/** One request as an agent sends it, through the proxy as it ships. */
async function throughProxy(url: string, session: object, key: string, text: string): Promise<void> {
  const answer = await fetch(`${url}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', ...session },
    body: JSON.stringify({
      model: 'claude-sonnet-4-6',
      max_tokens: 100,
      messages: [{ role: 'user', content: text }],
    }),
  })
  expect(await answer.text()).toContain('The lantern is green.')
}

/** A home in which chat, Claude Code and Codex were tried: conversations of three tenants. */
beforeAll(async () => {
  home = await temporaryHome()
  for (const name of [...FOLDERS, 'empty']) mkdirSync(folder(name))
  const projects = (name: string): string =>
    join(home.path, '.claude/projects', folder(name).replace(/[^A-Za-z0-9]/g, '-'))
  for (const name of ['proxied', 'both']) {
    mkdirSync(projects(name), { recursive: true })
    writeFileSync(join(projects(name), `${CLAUDE}.jsonl`), '{}\n')
  }
  for (const name of ['chatted', 'both']) {
    const args = ['chat', '--provider', 'demo', '--session', `chat-${name}`, '--prompt', 'list']
    expect((await plimsoll(home.path, args, { cwd: folder(name) })).code).toBe(0)
  }
  const referee = await startReferee({ wire: 'anthropic-messages', script: () => say('The lantern is green.') })
  const proxy = spawn(process.execPath, [BINARY, 'proxy', '--json', '--port', '0', '--anthropic', referee.url], {
    env: cleanEnvironment(home.path),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const printed = createInterface(proxy.stdout)
  const [line] = (await once(printed, 'line')) as [string]
  printed.on('line', (one) => (last = one))
  const { listening } = JSON.parse(line) as { listening: string }
  const codex = `<environment_context><cwd>${folder('codex')}</cwd></environment_context> Where is the anchor?`
  await throughProxy(listening, { session_id: 'of-codex' }, 'key-2', codex)
  await throughProxy(listening, { 'x-plimsoll-session': PROXIED }, 'key-1', 'Where is the lantern?')
  proxy.kill('SIGTERM')
  await once(proxy, 'close')
  await referee.close()
}, 120_000)
afterAll(() => home.remove())

it('a proxy that is told to stop says so in one line', () => {
  expect(JSON.parse(last)).toEqual({ stopping: 'SIGTERM' })
})

it.each([
  [['sessions', 'show'], `${PROXIED} (tenant`],
  [['sessions', 'undo'], 'there is nothing to undo'],
  [['sessions', 'export', '--markdown'], 'Where is the lantern?'],
  [['receipt'], 'No compaction is in force.'],
  [['handoff'], 'Where is the lantern?'],
])('%j takes the newest session and says which', async (args, says) => {
  const { code, out, err } = await plimsoll(home.path, args)
  expect({ code, err }).toEqual({ code: 0, err: `Newest session: ${PROXIED}\n` })
  expect(out).toContain(says)
})

it('stats counts the tenants whose sessions ls lists', async () => {
  await plimsoll(home.path, ['doctor', '--offline'])
  const json = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await plimsoll(home.path, [...args, '--json'])).out) as unknown
  const listed = (await json('sessions', 'ls')) as { tenant: string }[]
  expect(await json('store', 'stats')).toMatchObject({
    tenants: new Set(listed.map(({ tenant }) => tenant)).size,
    sessions: listed.length,
  })
})

interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly text?: string }[]
}

async function withMcp(cwd: string, work: (call: (name: string, input?: object) => Promise<Result>) => Promise<void>) {
  const client = new Client({ name: 'test', version: '1' })
  const env = cleanEnvironment(home.path) as Record<string, string>
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BINARY, 'mcp'], cwd, env }))
  try {
    await work(
      async (name, input = {}) => (await client.callTool({ name, arguments: { ...input } })) as unknown as Result,
    )
  } finally {
    await client.close()
  }
}
const textOf = ({ content }: Result): string => content.map(({ text }) => text ?? '').join('\n')

describe('plimsoll mcp without options, over conversations of several tenants', () => {
  it.each([
    ['chatted', 'chat-chatted'],
    ['proxied', PROXIED],
    ['codex', 'session_id-of-codex'],
  ])('in the folder %s serves its only conversation', async (name, session) => {
    await withMcp(folder(name), async (call) => {
      expect(textOf(await call('context_status'))).toMatch(/calls so far/)
      expect((await call('context_status')) as object).toMatchObject({ structuredContent: { session } })
    })
  })

  it.each(['both', 'empty'])(
    'in the folder %s lists what there is, and reads only what is named first',
    async (name) => {
      await withMcp(folder(name), async (call) => {
        const asked = await call('recall', { query: 'lantern' })
        expect(asked.isError).toBe(true)
        for (const session of ['chat-chatted', 'chat-both', PROXIED, 'session_id-of-codex'])
          expect(textOf(asked)).toContain(`${session}  of `)
        expect(textOf(asked)).not.toContain('Where is')
        expect((await call('context_status', { session: 'none' })).isError).toBe(true)
        expect(textOf(await call('recall', { query: 'lantern', session: PROXIED }))).toContain('Where is the lantern?')
        expect(textOf(await call('recall', { query: 'anchor' }))).not.toContain('Where is the anchor')
        const other = await call('recall', { query: 'anchor', session: 'session_id-of-codex' })
        expect(textOf(other)).toContain(`reads "${PROXIED}" only`)
      })
    },
  )
})

it('mcp says when there is nothing to find', async () => {
  const fresh = await temporaryHome()
  try {
    const env = cleanEnvironment(fresh.path) as Record<string, string>
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [BINARY, 'mcp'], env }))
    for (const [name, input] of [
      ['recall', { query: 'lantern' }],
      ['artifact_list', {}],
    ] as const)
      expect(textOf((await client.callTool({ name, arguments: { ...input } })) as unknown as Result)).toContain(
        'No conversation is stored yet.',
      )
    await client.close()
  } finally {
    await fresh.remove()
  }
})
