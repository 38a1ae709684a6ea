import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from 'vitest'
import { plimsoll, type Ran } from './support/binary.ts'
import { copyHome, seedHome, type SeededHome } from './support/seeded-home.ts'

let seeded: SeededHome
let home: SeededHome
beforeAll(async () => {
  seeded = await seedHome()
})
afterAll(() => seeded.remove())
beforeEach(async () => {
  home = await copyHome(seeded)
})
afterEach(() => home.remove())

const run = (...args: string[]): Promise<Ran> => plimsoll(home.path, args)
const json = async (...args: string[]): Promise<unknown> => {
  const { code, out, err } = await run(...args, '--json')
  expect({ code, err }, args.join(' ')).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

describe('sessions', () => {
  it('lists, shows, forks and removes', async () => {
    expect(await json('sessions', 'ls')).toMatchObject([{ session: 'run-42', tenant: 'local' }])
    expect(await json('sessions', 'show', 'run-42')).toMatchObject({
      session: 'run-42',
      calls: 2,
      withoutUsage: 0,
      removals: [{ handle: home.handle, action: 'shortened' }],
    })
    const found = (await json('sessions', 'search', 'reading big.log role:user')) as { items: object[] }[]
    expect(found[0]?.items[0]).toMatchObject({ kind: 'user', excerpt: expect.stringContaining('big.log') as unknown })
    expect(await json('sessions', 'search', 'walrus', '--session', 'run-42')).toEqual([])
    expect(await json('sessions', 'fork', 'run-42', 'run-43')).toMatchObject({ to: 'run-43' })
    expect(await json('sessions', 'ls')).toHaveLength(2)
    expect(await json('sessions', 'rm', 'run-42', '--yes')).toMatchObject({ removed: true })
    expect(await json('sessions', 'ls')).toMatchObject([{ session: 'run-43' }])
    // The fork holds on to what it names.
    await json('store', 'prune', '--older-than', '52w', '--yes')
    expect(await json('store', 'verify')).toMatchObject({ clean: true, dangling: [] })
  })

  it('asks before it removes, and without a terminal it does not', async () => {
    const { code, err } = await run('sessions', 'rm', 'run-42')
    expect(code).toBe(2)
    expect(err).toContain('Use --yes')
    expect(await json('sessions', 'ls')).toHaveLength(1)
  })

  it('pins by the beginning of an identity', async () => {
    const items = (await json('sessions', 'pin', 'run-42')) as { identity: string; kind: string }[]
    expect(items[0]).toMatchObject({ kind: 'user' })
    await json('sessions', 'pin', 'run-42', items[0]!.identity.slice(0, 12))
    expect(await json('sessions', 'show', 'run-42')).toMatchObject({ pins: [items[0]!.identity] })
    await json('sessions', 'pin', 'run-42', items[0]!.identity.slice(0, 12), '--off')
    expect(await json('sessions', 'show', 'run-42')).toMatchObject({ pins: [] })
  })

  it('says that nothing stands when there is nothing to undo', async () => {
    expect(await json('sessions', 'undo', 'run-42')).toEqual({ session: 'run-42', epoch: null })
  })

  it('names what is not there', async () => {
    const { code, err } = await run('sessions', 'show', 'nonsense')
    expect(code).toBe(1)
    expect(err).toContain('plimsoll sessions ls shows them all')
  })

  it('exports one session that another store takes in', async () => {
    await run('sessions', 'export', 'run-42', '--out', 'one.jsonl', '--with-secret')
    const into = ['--store', 'sqlite:./other.db']
    expect(await json('store', 'import', 'one.jsonl', ...into)).toMatchObject({ sessions: 1 })
    expect(await json('sessions', 'ls', ...into)).toMatchObject([{ session: 'run-42' }])
    expect((await run('sessions', 'export', 'run-42', '--markdown')).out).toContain('## result: read_file')
  })
})

describe('artifacts', () => {
  it('gives back exactly what was taken out', async () => {
    const { code, out } = await run('artifacts', 'show', home.handle)
    expect(code).toBe(0)
    expect(out).toBe(readFileSync(join(home.path, 'big.log'), 'utf8'))
    await run('artifacts', 'show', home.handle, '--out', 'again.log')
    expect(readFileSync(join(home.path, 'again.log'), 'utf8')).toBe(out)
  })

  it('reads parts, finds lines, queries and computes', async () => {
    expect((await run('artifacts', 'show', home.handle, '--start', '2', '--count', '1')).out).toContain(
      'request 1 took 37 ms',
    )
    expect((await run('artifacts', 'grep', home.handle, 'ERROR', '--limit', '2')).out).toContain('11')
    expect((await run('artifacts', 'query', home.handle, 'SELECT count(*) AS n FROM t')).out).toContain('1000')
    expect((await run('artifacts', 'run', home.handle, 'artifacts[0].lines.length')).out).toContain('1000')
  })

  it('removes, and says so afterwards', async () => {
    await json('artifacts', 'rm', home.handle, '--yes')
    expect((await run('artifacts', 'show', home.handle)).err).toContain('There is no artifact')
    expect(await run('store', 'verify')).toMatchObject({ code: 3 })
  })
})

describe('store', () => {
  it('a move to another store keeps sessions, artifacts and handles', async () => {
    const into = ['--store', 'sqlite:./moved.db']
    expect(await json('store', 'import', 'backup.jsonl', ...into)).toMatchObject({ sessions: 1, artifacts: 1 })
    expect(await json('store', 'verify', ...into)).toMatchObject({ clean: true })
    expect((await run('artifacts', 'show', home.handle, ...into)).out).toBe(
      readFileSync(join(home.path, 'big.log'), 'utf8'),
    )
    // Again: nothing new, nothing doubled.
    expect(await json('store', 'import', 'backup.jsonl', ...into)).toMatchObject({ records: 0 })
  })

  it('a truncated export is refused', async () => {
    const text = readFileSync(join(home.path, 'backup.jsonl'), 'utf8')
    writeFileSync(join(home.path, 'torn.jsonl'), text.slice(0, text.length / 2))
    const { code, err } = await run('store', 'import', 'torn.jsonl', '--store', 'sqlite:./torn.db')
    expect(code).toBe(2)
    expect(err).toMatch(/line \d+|Line \d+/)
  })

  it('counts what it holds', async () => {
    expect(await json('store', 'stats')).toMatchObject({
      sessions: 1,
      artifacts: 1,
      schemaVersion: expect.any(Number) as number,
    })
    expect(await json('store', 'migrate')).toMatchObject({ applied: [] })
  })
})

describe('count, models, config, doctor', () => {
  it('counts exactly where a tokenizer is there, else with an interval', async () => {
    expect(await json('count', 'README.md', '--model', 'gpt-5')).toMatchObject([{ file: 'README.md', source: 'exact' }])
    const [estimated] = (await json('count', 'README.md', '--model', 'claude-sonnet-4-5')) as {
      low: number
      tokens: number
      high: number
    }[]
    expect(estimated!.low).toBeLessThan(estimated!.high)
    expect(await json('count', 'request.json', '--request', 'anthropic-messages')).toMatchObject([
      { parts: { head: expect.any(Number) as number } },
    ])
    expect((await plimsoll(home.path, ['count', '-'], { input: 'hello' })).out).toMatch(/^\d+ tokens/)
  })

  it("puts the vendor's own models first", async () => {
    const models = (await json('models', 'claude-sonnet-4-5')) as { id: string }[]
    expect(models[0]!.id).toBe('claude-sonnet-4-5')
  })

  it('says which setting came from where, and which line is wrong', async () => {
    await json('config', 'init', 'mine.yaml')
    await json('config', 'check', 'mine.yaml')
    expect((await run('config', 'init', 'mine.yaml')).code).toBe(2)
    writeFileSync(join(home.path, 'mine.yaml'), 'policy: plimsoll\noverride:\n  water:\n    high: 90%\n')
    const settings = (await json('config', 'show', '--config', 'mine.yaml')) as { name: string; from: string }[]
    expect(settings.find(({ name }) => name === 'policy.water.high')).toEqual({
      name: 'policy.water.high',
      value: 0.9,
      from: 'file',
    })
    expect(settings.find(({ name }) => name === 'policy.water.warn')).toMatchObject({ from: 'preset' })
    expect(settings.find(({ name }) => name === 'window')).toMatchObject({ from: 'default' })
    expect(settings.find(({ name }) => name === 'store')).toMatchObject({ from: 'environment' })
    writeFileSync(join(home.path, 'mine.yaml'), 'policy: plimsoll\noveride:\n  water: {}\n')
    const { code, err } = await run('config', 'check', 'mine.yaml')
    expect(code).toBe(2)
    expect(err).toContain('mine.yaml:2')
  })

  it.each([
    ['summaries.yaml', 'summarizer: { format: openai-chat, model: small, apiKeyEnv: SUMMARY_KEY }\n'],
    [
      'summaries.json',
      '{ "port": 4242,\n  "summarizer": { "format": "openai-chat", "model": "small", "apiKeyEnv": "SUMMARY_KEY" } }\n',
    ],
  ])('says in %s whether the key of the summarizer is there, and never what it is', async (file, text) => {
    writeFileSync(join(home.path, file), text)
    const shown = async (env: Record<string, string>) => {
      const { code, out, err } = await plimsoll(home.path, ['config', 'show', '--config', file, '--json'], { env })
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).not.toContain('sk-secret')
      return (JSON.parse(out) as { name: string; value: unknown }[]).find(({ name }) => name === 'summarizer')
    }
    const summarizer = { format: 'openai-chat', model: 'small', apiKeyEnv: 'SUMMARY_KEY' }
    expect(await shown({})).toEqual({ name: 'summarizer', value: { ...summarizer, apiKey: 'unset' }, from: 'file' })
    expect(await shown({ SUMMARY_KEY: 'sk-secret' })).toMatchObject({ value: { ...summarizer, apiKey: 'set' } })
  })

  it('does the same for the settings of a proxy', async () => {
    const settings = (await json('config', 'show')) as { name: string; from: string }[]
    expect(settings.find(({ name }) => name === 'port')).toEqual({ name: 'port', value: 4141, from: 'file' })
    expect(settings.find(({ name }) => name === 'artifacts')).toMatchObject({ from: 'default' })
    writeFileSync(join(home.path, 'proxy.json'), '{ "port": 1, "prot": 1 }')
    const { code, err } = await run('config', 'check', 'proxy.json')
    expect(code).toBe(2)
    expect(err).toMatch(/proxy.json:1: There is no key "prot"/)
  })

  it('finds a healthy machine healthy, and never prints a key', async () => {
    const { code, out } = await plimsoll(home.path, ['doctor', '--offline', '--json'], {
      env: { OPENAI_API_KEY: 'sk-secret', ANTHROPIC_BASE_URL: 'http://127.0.0.1:4141/anthropic' },
    })
    expect(code).toBe(0)
    expect(out).not.toContain('sk-secret')
    const checks = JSON.parse(out) as { name: string; state: string; message: string }[]
    expect(checks.filter(({ state }) => state === 'fail')).toEqual([])
    expect(checks.find(({ name }) => name === 'ANTHROPIC_BASE_URL')!.message).toContain(
      'through a proxy on this machine',
    )
    const broken = await run('doctor', '--offline', '--store', 'sqlite:./README.md/place.db')
    expect(broken.code).toBe(3)
    expect(broken.out).toContain('cannot be written')
  })
})

describe('config of spending, models and summaries', () => {
  const TEXT = `policy: plimsoll
summarizer: { format: anthropic-messages, model: claude-haiku-4-5, apiKeyEnv: EXAMPLE_KEY }
budgets:
  - { scope: day, usd: 20 }
models:
  my-model: { window: 64k }
`
  const from = (settings: unknown, name: string): unknown =>
    (settings as { name: string }[]).find((setting) => setting.name === name)

  it('is checked, and shown with where it comes from', async () => {
    writeFileSync(join(home.path, 'plimsoll.yaml'), TEXT)
    expect(await json('config', 'check')).toMatchObject({ ok: true })
    const settings = await json('config', 'show')
    expect(from(settings, 'budgets')).toMatchObject({ value: [{ scope: 'day', usd: 20 }], from: 'file' })
    expect(from(settings, 'models')).toMatchObject({ value: { 'my-model': { window: 64_000 } }, from: 'file' })
    expect(from(settings, 'summarizer')).toMatchObject({ value: { model: 'claude-haiku-4-5' }, from: 'file' })
  })

  it('what a new file says in comments is right as well', async () => {
    await run('config', 'init', 'new.yaml')
    const file = join(home.path, 'new.yaml')
    const live = readFileSync(file, 'utf8').replaceAll(/^# (?=(?:summarizer|budgets|models|window|override):| )/gm, '')
    writeFileSync(file, live)
    expect(live).toContain('\nbudgets:\n  - {')
    expect(await json('config', 'check', 'new.yaml')).toMatchObject({ ok: true, problems: [] })
  })

  it('a proxy takes it, and wants the key of the summarizer', async () => {
    writeFileSync(
      join(home.path, 'proxy.json'),
      JSON.stringify({
        port: 0,
        summarizer: { format: 'anthropic-messages', model: 'claude-haiku-4-5', apiKeyEnv: 'EXAMPLE_KEY' },
      }),
    )
    const refused = await run('proxy', '--config', 'proxy.json')
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toContain('EXAMPLE_KEY is not set')
    const shown = await plimsoll(home.path, ['config', 'show', '--config', 'proxy.json'], {
      env: { EXAMPLE_KEY: 'sk-secret' },
    })
    expect(shown.out).toContain('claude-haiku-4-5')
    expect(shown.out).not.toContain('sk-secret')
  })
})

describe('models', () => {
  it('update fetches a list, and every command goes by it from then on', async () => {
    expect((await run('models', 'example-next-1')).code).toBe(1)
    const { modelsUrl } = home
    expect(await json('models', 'update', '--url', modelsUrl)).toMatchObject({ url: modelsUrl })
    expect(await json('models', 'example-next-1')).toMatchObject([{ id: 'example-next-1', window: 321_000 }])
    expect((await run('count', 'README.md', '--model', 'example-next-1')).err).toBe('')
    // An older list than the package's own is no news.
    const file = join(home.path, 'plimsoll/catalogue.txt')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^(plimsoll catalogue 1, )\S+/, '$12001-01-01'))
    expect((await run('models', 'example-next-1')).code).toBe(1)
  })

  it('says that the old one stays in use when the list cannot be had', async () => {
    const { code, err } = await run('models', 'update', '--url', 'http://127.0.0.1:1/none')
    expect(code).toBe(1)
    expect(err).toContain('The bundled catalogue stays in use')
    expect((await run('models', 'sonnet')).code).toBe(0)
  })
})
