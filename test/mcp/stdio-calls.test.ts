import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openArtifacts } from '../../src/drivers/open-artifacts.ts'
import { openPlimsoll } from './conversations.ts'

/** What code may take before its thread is ended whatever the client says. */
const LIMIT_MS = 10_000

let folder: string
let handle: string
const places = (): readonly [string, string] => [
  `sqlite:${join(folder, 'plimsoll.db')}`,
  `file:${join(folder, 'artifacts')}`,
]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plimsoll-stdio-'))
  const [store, artifacts] = places()
  // The store has to be there before a server opens it.
  await openPlimsoll({ store, artifacts }).close()
  const opened = openArtifacts(artifacts, { secret: Buffer.alloc(32, 9) })
  const lines = Buffer.from('a line of a long log that says little\n'.repeat((8 * 2 ** 20) / 38))
  handle = (await opened.put('local', lines, { tool: 'cat', session: 'run-1' })).handle
  await opened.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(['legacy', { pin: '2026-07-28' }] as const)('a long call over stdio, %j', (mode) => {
  let client: Client
  beforeAll(async () => {
    client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const worker = join(import.meta.dirname, 'stdio-worker.ts')
    const args = ['--import', 'tsx', worker, ...places(), '{"session":"run-1"}']
    await client.connect(new StdioClientTransport({ command: process.execPath, args }))
  })
  afterAll(() => client.close())

  it('tells how far it is', async () => {
    const shares: number[] = []
    await client.callTool(
      { name: 'artifact_grep', arguments: { handle, pattern: 'nothing like it' } },
      { onprogress: ({ progress, total }) => shares.push(progress / total!) },
    )
    expect(shares.length).toBeGreaterThanOrEqual(7)
    expect(shares).toEqual([...new Set(shares)].sort((a, b) => a - b))
  })

  it('ends when the client cancels it: the next one need not wait for its time to be up', async () => {
    const run = (code: string, signal?: AbortSignal) =>
      client.callTool({ name: 'artifact_run', arguments: { handle, code } }, signal === undefined ? {} : { signal })
    // What loading the sandbox takes is no part of it.
    await run('1')
    const leaving = new AbortController()
    const endless = run('for (;;) {}', leaving.signal)
    const refused = expect(endless).rejects.toThrow()
    // An answer to a later call: the server has read both.
    await client.callTool({ name: 'artifact_list', arguments: {} })
    const startedAt = performance.now()
    leaving.abort('changed my mind')
    await refused
    expect(JSON.stringify(await run('6 * 7'))).toContain('42')
    expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS / 2)
  })
})
