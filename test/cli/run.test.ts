import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchOf } from '../../src/cli/agents/known-agents.ts'
import { json, MESSAGE, ODD_BODY, plainUpstream } from '../gateway/upstream.ts'
import { plimsoll, temporaryHome } from './support/binary.ts'

let home: Awaited<ReturnType<typeof temporaryHome>>
let folder: string
beforeAll(async () => {
  home = await temporaryHome()
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-run-test-'))
})
afterAll(async () => {
  await home.remove()
  rmSync(folder, { recursive: true, force: true })
})

const url = 'http://127.0.0.1:1'
const launch = (file: string, args: readonly string[], env: Record<string, string> = {}) =>
  launchOf({ file, args }, { url, env, folder })

describe('an agent that is known', () => {
  it('gets flags before its own, by name, path or package', () => {
    const own = ['exec', 'do it']
    const flags = ['-c', 'model_provider="plimsoll"', '-c']
    for (const file of ['codex', '/usr/local/bin/codex', 'codex.exe']) {
      const { command, agent } = launch(file, own, { OPENAI_API_KEY: 'k' })
      expect(agent?.name).toBe('codex')
      expect(command.file).toBe(file)
      expect(command.args.slice(0, 3)).toEqual(flags)
      expect(command.args[3]).toContain(`base_url="${url}/openai/v1"`)
      expect(command.args[3]).toContain('env_key="OPENAI_API_KEY"')
      expect(command.args.slice(4)).toEqual(own)
    }
    expect(launch('codex', own).command.args[3]).toContain('requires_openai_auth=true')
    const { args } = launch('npx', ['-y', '@openai/codex@0.166.0', ...own]).command
    expect(args.slice(0, 5)).toEqual(['-y', '@openai/codex@0.166.0', ...flags])
    for (const scope of ['@mariozechner', '@earendil-works'])
      expect(launch('npx', [`${scope}/pi-coding-agent@latest`]).agent?.name).toBe('pi')
  })

  it('keeps the provider that a person chose', () => {
    const args = ['-c', 'model_provider=mine', 'exec']
    expect(launch('codex', args).command.args).toEqual(args)
  })

  it('keeps the configuration that it has', () => {
    const given = { theme: 'dark', provider: { openai: { options: { timeout: 5 } }, mine: {} } }
    const { env } = launch('opencode', ['run'], { OPENCODE_CONFIG_CONTENT: JSON.stringify(given) })
    expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT']!)).toMatchObject({
      theme: 'dark',
      provider: {
        openai: { options: { timeout: 5, baseURL: `${url}/openai/v1` } },
        anthropic: { options: { baseURL: `${url}/anthropic/v1` } },
        mine: {},
      },
    })
  })

  it('gets a file of its own where it needs one', () => {
    const [flag, file = '', ...rest] = launch('pi', ['-p', 'do it']).command.args
    expect([flag, rest]).toEqual(['--extension', ['-p', 'do it']])
    expect(readFileSync(file, 'utf8')).toContain(`pi.registerProvider("anthropic", {"baseUrl":"${url}/anthropic"})`)
  })

  it('leaves every other command as it is', () => {
    const { command, env, agent } = launch('python', ['codex.py'])
    expect({ command, env, agent }).toEqual({
      command: { file: 'python', args: ['codex.py'] },
      env: {},
      agent: undefined,
    })
  })
})

describe('plimsoll run', () => {
  it('lists the agents that it knows', async () => {
    const { code, out } = await plimsoll(home.path, ['run', '--list'])
    expect(code).toBe(0)
    for (const name of ['claude', 'codex', 'gemini', 'opencode', 'pi', 'aider'])
      expect(out).toMatch(new RegExp(`^${name} `, 'm'))
  })

  it('says what to write when there is nothing to run', async () => {
    const { code, err } = await plimsoll(home.path, ['run'])
    expect(code).toBe(2)
    expect(err).toContain('plimsoll run -- claude')
  })

  it('warns when the command has ended and nothing came through, and only then', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const run = (file: string, ...args: string[]) =>
      plimsoll(home.path, ['run', '--store', 'memory:', '--anthropic', upstream.url, '--', file, ...args])
    const past = await run(process.execPath, '-e', 'process.exitCode = 7')
    expect(past.code).toBe(7)
    expect(past.err).toMatch(
      /has ended and no model call came through the proxy\. .*start plimsoll proxy and set the base URL in its own settings/,
    )
    const script = join(folder, 'claude')
    const call = `fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(ODD_BODY)} }).then((r) => r.text())`
    writeFileSync(script, `#!${process.execPath}\n${call}\n`)
    chmodSync(script, 0o755)
    const through = await run(script)
    expect({ code: through.code, err: through.err }).toEqual({ code: 0, err: '' })
    expect(upstream.received).toHaveLength(1)
  })

  it('leaves no folder behind', async () => {
    const print = 'console.log(process.argv[2])'
    const script = join(folder, 'pi')
    writeFileSync(script, `#!${process.execPath}\n${print.replace('[2]', '[3]')}\n`)
    chmodSync(script, 0o755)
    const { out } = await plimsoll(home.path, ['run', '--store', 'memory:', '--', script])
    expect(out.trim()).toMatch(/plimsoll\.js$/)
    expect(existsSync(out.trim())).toBe(false)
  })
})
