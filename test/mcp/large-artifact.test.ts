import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlimsoll } from './conversations.ts'

const MEGABYTE = 2 ** 20
const SIZE = 100 * MEGABYTE
const LINE = 64
/** What the server may grow by while it reads a hundred pieces of a megabyte: less than the artifact, whatever the garbage collector does. */
const MOST_GROWTH = 64 * MEGABYTE

let folder: string
let handle: string
let client: Client
let pid: number

/** The most memory that the process ever had. */
const peak = async (): Promise<number> =>
  Number(/VmHWM:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))![1]) * 1024

const lineOf = (n: number): string => `line ${n} `.padEnd(LINE - 1, '.')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plimsoll-large-'))
  const places = [`sqlite:${join(folder, 'plimsoll.db')}`, `file:${join(folder, 'artifacts')}`] as const
  const plimsoll = openPlimsoll({ store: places[0], artifacts: places[1] })
  const bytes = Buffer.allocUnsafe(SIZE)
  for (let n = 0; n < SIZE / LINE; n++) bytes.write(`${lineOf(n + 1)}\n`, n * LINE, 'latin1')
  // Stored as a driver gets it: what a view of it would show is another test's business.
  const { openArtifacts } = await import('../../src/drivers/open-artifacts.ts')
  const store = openArtifacts(places[1], { secret: Buffer.alloc(32, 9) })
  handle = (await store.put('local', bytes, { tool: 'cat', session: 'run-1' })).handle
  await store.close()
  await plimsoll.close()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', 'tsx', join(import.meta.dirname, 'stdio-worker.ts'), ...places, '{"session":"run-1"}'],
  })
  client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  pid = transport.pid!
}, 120_000)
afterAll(async () => {
  await client.close()
  await rm(folder, { recursive: true, force: true })
})

describe('an artifact of 100 MB', () => {
  const read = async (input: object): Promise<string> => {
    const { content } = await client.callTool({ name: 'artifact_read', arguments: { handle, ...input } })
    return (content as readonly { readonly text: string }[])[0]!.text
  }

  it('is read in ranges, while the server holds a fraction of it', async () => {
    // What loading code and the first answer take is no part of it.
    await read({ unit: 'bytes', start: 0, count: 1_000 })
    const before = await peak()
    for (let n = 1; n <= SIZE / LINE; n += 97_003)
      expect(await read({ start: n, count: 2 })).toContain(`${lineOf(n)}\n${lineOf(n + 1)}`)
    expect(await read({ start: -1 })).toContain(lineOf(SIZE / LINE))
    for (let at = 0; at < SIZE; at += 9_999_936)
      expect(await read({ unit: 'bytes', start: at, count: LINE })).toContain(lineOf(at / LINE + 1))
    const uri = `plimsoll://artifact/${handle}/bytes/${SIZE - 2 * LINE}/${SIZE}`
    const { contents } = await client.readResource({ uri })
    expect((contents[0] as { text: string }).text).toBe(`${lineOf(SIZE / LINE - 1)}\n${lineOf(SIZE / LINE)}\n`)
    // The whole is not given even to a client that asks for it.
    const whole = await client.readResource({ uri: `plimsoll://artifact/${handle}` })
    expect((whole.contents[0] as { text: string }).text).toHaveLength(256 * 1024)
    expect(whole.contents[0]).toMatchObject({ _meta: { 'plimsoll/bytes': SIZE, 'plimsoll/end': 256 * 1024 } })
    const growth = (await peak()) - before
    console.log(`server grew by ${(growth / MEGABYTE).toFixed(1)} MB while it read from 100 MB`)
    expect(growth).toBeLessThan(MOST_GROWTH)
  }, 120_000)
})
