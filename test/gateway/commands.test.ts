import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { json, MESSAGE, ODD_BODY, plainUpstream, post } from './upstream.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-commands-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function plimsoll(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: folder, PLIMSOLL_HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function watch(child: ChildProcess): { lines: string[]; errors: string[]; exit: Promise<number | null> } {
  const lines: string[] = []
  const errors: string[] = []
  createInterface(child.stdout!).on('line', (line) => lines.push(line))
  createInterface(child.stderr!).on('line', (line) => errors.push(line))
  return { lines, errors, exit: new Promise((done) => child.once('close', (code) => done(code))) }
}

const poll = { timeout: 50_000, interval: 50 }

describe('plimsoll proxy', () => {
  it('says where it listens, one line per request, reads its file again, and ends well on SIGTERM', async () => {
    const first = await plainUpstream(json(MESSAGE))
    const second = await plainUpstream(json(MESSAGE))
    const config = join(folder, 'proxy.json')
    writeFileSync(config, JSON.stringify({ upstreams: { anthropic: first.url }, store: 'memory:' }))
    const child = plimsoll(['proxy', '--port', '0', '--json', '--config', config])
    const { lines, errors, exit } = watch(child)
    await expect.poll(() => lines[0], poll).toMatch(/^\{"listening":"http:\/\/127\.0\.0\.1:\d+",/)
    const { listening, ...rest } = JSON.parse(lines[0]!) as { listening: string; dashboard: string }
    expect(Object.keys(rest)).toEqual(['dashboard'])
    expect(rest.dashboard).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/t\/[\w-]{16,}\/$/)
    expect(new URL(rest.dashboard).origin).toBe(listening)
    await (await post(`${listening}/anthropic/v1/messages`, ODD_BODY)).text()
    await expect.poll(() => lines.length, poll).toBe(2)
    expect(JSON.parse(lines[1]!)).toMatchObject({ method: 'POST', path: '/anthropic/v1/messages', status: 200 })
    writeFileSync(config, '{"upstreams":')
    child.kill('SIGHUP')
    await expect.poll(() => errors.join('\n'), poll).toContain('proxy.json:1:')
    const changed = {
      upstreams: { anthropic: second.url },
      store: 'sqlite:elsewhere.db',
      window: 30_000,
      policies: {
        own: { extends: 'plimsoll', override: { buffer: { fraction: 0.5, max: '1M' } } },
        roomy: { override: { buffer: { fraction: 0.01, max: '1M' } } },
      },
      policy: 'own',
    }
    writeFileSync(config, JSON.stringify(changed))
    child.kill('SIGHUP')
    await expect.poll(() => errors.join('\n'), poll).toContain('settings read again; store will change with a restart')
    const answer = await post(`${listening}/anthropic/v1/messages`, ODD_BODY)
    expect([first.received.length, second.received.length]).toEqual([1, 1])
    // Half of the new window is held back by the file's own policy.
    expect(Number(answer.headers.get('x-plimsoll-limit'))).toBeGreaterThan(14_000)
    expect(Number(answer.headers.get('x-plimsoll-limit'))).toBeLessThanOrEqual(15_000)
    const asked = await post(`${listening}/anthropic/v1/messages`, ODD_BODY, { 'x-plimsoll-policy': 'roomy' })
    expect(Number(asked.headers.get('x-plimsoll-limit'))).toBeGreaterThan(25_000)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
  })

  it('ends well when it is told to stop at the very moment it says that it listens', async () => {
    const child = plimsoll(['proxy', '--port', '0', '--json', '--store', 'memory:'])
    const { lines, exit } = watch(child)
    child.stdout!.once('data', () => child.kill('SIGTERM'))
    expect(await exit).toBe(0)
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object)[0])).toEqual(['listening', 'stopping'])
  })

  it('will not listen for others without a token, and says so', async () => {
    const { errors, exit } = watch(plimsoll(['proxy', '--port', '0', '--host', '0.0.0.0', '--store', 'memory:']))
    expect(await exit).toBe(2)
    expect(errors.join('\n')).toContain('PLIMSOLL_TOKEN')
  })
})

describe('plimsoll run', () => {
  it('gives one command a proxy of its own and ends with its exit code', async () => {
    const upstream = await plainUpstream(json('{"data":[]}'))
    const script =
      "fetch(process.env.OPENAI_BASE_URL + '/models').then(async (r) => { console.log(await r.text()); process.exit(7) })"
    const { lines, exit } = watch(
      plimsoll(['run', '--store', 'memory:', '--openai', upstream.url, '--', process.execPath, '-e', script]),
    )
    expect(await exit).toBe(7)
    expect(lines).toEqual(['{"data":[]}'])
    expect(upstream.received[0]!.url).toBe('/v1/models')
  })

  it('says when there is no such command', async () => {
    const { errors, exit } = watch(plimsoll(['run', '--store', 'memory:', '--', join(folder, 'no-such-command')]))
    expect(await exit).toBe(2)
    expect(errors.join('\n')).toContain('was not found')
  })
})

describe('plimsoll demo', () => {
  it('gets through sixty turns in 32k without a key, in plain lines when nobody watches', async () => {
    const { lines, exit } = watch(plimsoll(['demo']))
    expect(await exit).toBe(0)
    const text = lines.join('\n')
    expect(text).toContain('60 calls, 0 overflows, 0 invalid requests')
    expect(text).toContain('without Plimsoll the agent ends here')
    expect(text).toMatch(/read back: (\d+) of \1 byte-identical/)
    expect(text).not.toContain('\u001B')
  })

  it('speaks JSON to programs', async () => {
    const { lines, exit } = watch(plimsoll(['demo', '--json', '--turns', '12']))
    expect(await exit).toBe(0)
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ calls: 12, overflows: 0, invalid: 0 })
  })
})
