import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reading } from '../../src/cli/option-values.ts'
import { bytes as inBytes } from '../../src/settings/values.ts'
import { createProgram } from '../../src/cli/program.ts'
import { screenOf } from '../../src/cli/kit/output.ts'
import { checkConfigText } from '../../src/settings/index.ts'
import { plimsoll, type Ran } from './support/binary.ts'
import { seedHome, type SeededHome } from './support/seeded-home.ts'

let home: SeededHome
beforeAll(async () => {
  home = await seedHome()
})
afterAll(() => home.remove())

const run = (...args: string[]): Promise<Ran> => plimsoll(home.path, args)

it('lists commands without loading them as it does with them', async () => {
  const [listed, loaded] = [await createProgram([]), await createProgram()]
  expect(listed.helpInformation()).toBe(loaded.helpInformation())
})

describe('what cannot work is said at once', () => {
  /** Node's own `mkdir -p` never comes back from there. */
  const NOWHERE = 'sqlite:/proc/nowhere/deeper/plimsoll.db'

  it('a store where no folder can be made', async () => {
    const { code, err } = await run('chat', '--provider', 'demo', '--prompt', 'list', '--store', NOWHERE)
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('/proc/nowhere') as string })
    expect((await run('doctor', '--offline', '--store', NOWHERE)).out).toMatch(/✗ store: \/proc cannot be written/)
  })

  it.each([
    [['--ca-file', 'none.pem'], 'The certificate file none.pem cannot be read.'],
    [['--workers', '0'], 'at least 1'],
    [['--artifacts', 's3://bucket'], 'AWS_ACCESS_KEY_ID'],
    [['--max-body', '64q'], '12KiB or 64m'],
    [['--window', '12q'], '128000 or 128k'],
    [['--openai', 'nowhere'], 'The upstream "nowhere" of openai is not a URL.'],
    [['--workers', '2', '--store', 'memory:'], 'A proxy is one process: 2 workers cannot be started.'],
  ])('proxy %s', async (args, words) => {
    const { code, err } = await run('proxy', '--port', '0', ...args)
    expect(code).toBe(2)
    expect(err).toContain(words)
  })

  it.each([
    [['sessions', 'ls', '--limit', '0'], 'at least 1'],
    [['demo', '--turns', '0'], 'at least 1'],
    [['demo', '--window', '10'], 'at least 4k'],
    [['inspect', 'sessions', '--list'], '--list takes no path'],
  ])('%j', async (args, words) => {
    const { code, out, err } = await run(...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(words)
  })

  it('names host and port of what cannot be reached', async () => {
    const args = [
      'chat',
      '--provider',
      'compatible',
      '--base-url',
      'http://127.0.0.1:1',
      '--model',
      'm',
      '--prompt',
      'hi',
    ]
    const { code, err } = await run(...args)
    expect(code).toBe(1)
    expect(err).toContain('127.0.0.1:1')
  })
})

it.each(['32000', '32_000', '32,000', '32k', '32K', '0.032M'])('takes %s for a size', async (size) => {
  const { code, out } = await run('replay', 'session.jsonl', '--window', size, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(out.split('\n')[0]!)).toMatchObject({ window: 32_000 })
})

it.each([
  ['64m', 2 ** 26],
  ['64MiB', 2 ** 26],
  ['64MB', 64_000_000],
  ['67108864', 2 ** 26],
])('takes %s for bytes, wherever bytes are given', (size, bytes) => {
  expect(reading(inBytes())(size)).toBe(bytes)
  expect(checkConfigText(`memoryBytes: ${size}`, 'plimsoll.yaml')).toEqual({
    config: { memoryBytes: bytes },
    problems: [],
  })
})

it('lists no accounts of budgets among the sessions', async () => {
  const store = 'sqlite:./budgets.db'
  const config = join(home.path, 'budgets.yaml')
  writeFileSync(config, 'budgets:\n  - { scope: day, usd: 20 }\n')
  const { code } = await run('chat', '--provider', 'demo', '--prompt', 'list', '--store', store, '--config', config)
  expect(code).toBe(0)
  const { out } = await run('sessions', 'ls', '--store', store, '--json')
  expect(JSON.parse(out)).toMatchObject([{ tenant: 'local' }])
  // They are there, under a tenant that has to be asked for.
  const accounts = await run('sessions', 'ls', '--store', store, '--tenant', 'plimsoll', '--json')
  expect(JSON.parse(accounts.out)).toHaveLength(1)
})

it('an artifact query that fails exits with 1', async () => {
  const { code, out } = await run('artifacts', 'query', home.handle, 'SELECT nothing FROM nowhere')
  expect({ code, out }).toMatchObject({ code: 1, out: expect.stringContaining('The query failed') as string })
})

it('doctor writes to the store', async () => {
  expect((await run('doctor', '--offline')).out).toMatch(/✓ store: \S+ can be written/)
})

describe('colours', () => {
  const pipe = { isTTY: false, columns: 0 }
  it.each([
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    [{}, false],
  ])('%o on a pipe: %s', (env, colour) => {
    expect(screenOf(pipe, env).colour).toBe(colour)
  })
})

it('an imported session keeps its dates', async () => {
  const lines = readFileSync(join(home.path, 'backup.jsonl'), 'utf8')
  const before = [...lines.matchAll(/"at":(\d{13})/g)].map((found) => Number(found[1]))
  expect((await run('store', 'import', 'backup.jsonl', '--store', 'sqlite:./dated.db')).code).toBe(0)
  const { out } = await run('sessions', 'ls', '--store', 'sqlite:./dated.db', '--json')
  const [{ createdAt, updatedAt }] = JSON.parse(out) as [{ createdAt: number; updatedAt: number }]
  expect(createdAt).toBe(Math.min(...before))
  expect(updatedAt).toBeLessThanOrEqual(Math.max(...before))
})

describe('inspect', () => {
  it('says what the provider’s count costs', async () => {
    const { out } = await run('inspect', 'session.jsonl')
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(/At list prices that is \$\d+\.\d+/)
    const [json] = JSON.parse((await run('inspect', 'session.jsonl', '--json')).out) as { costUsd: number }[]
    expect(json!.costUsd).toBeGreaterThan(0)
  })

  it('names tools that took little together', async () => {
    const folder = join(home.path, 'many-tools')
    mkdirSync(folder)
    const file = join(folder, 'session.json')
    const calls = Array.from({ length: 6 }, (_, i) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: `c${i}`, type: 'function', function: { name: `small_${i}`, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: `c${i}`, content: 'ok' },
    ]).flat()
    writeFileSync(
      file,
      JSON.stringify({
        messages: [{ role: 'user', content: 'word '.repeat(5_000) }, ...calls, { role: 'assistant', content: 'done' }],
      }),
    )
    const { out } = await run('inspect', file)
    expect(out).toContain('results: 6 tools below 1 %')
    expect(out).not.toContain('results: small_1')
  })
})
