import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'
import { BINARY, cleanEnvironment, plimsoll, temporaryHome } from './support/binary.ts'

/** Nothing can listen there. */
const DEAD = 'http://127.0.0.1:1'
const KEY = Buffer.alloc(32, 3).toString('base64')

let home: Awaited<ReturnType<typeof temporaryHome>>
let referee: RunningReferee
let silent: RunningReferee
let proxy: ChildProcess
let url: string
const stranger = createServer((_request, response) => response.writeHead(404).end('not here'))

beforeAll(async () => {
  home = await temporaryHome()
  const script = () => say('The lantern is green.')
  referee = await startReferee({ wire: 'anthropic-messages', script })
  silent = await startReferee({ wire: 'anthropic-messages', script, usage: 'off' })
  await once(stranger.listen(0, '127.0.0.1'), 'listening')
  const upstreams = ['--anthropic', referee.url, '--openai', DEAD]
  proxy = spawn(process.execPath, [BINARY, 'proxy', '--json', '--port', '0', ...upstreams], {
    env: cleanEnvironment(home.path),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(createInterface(proxy.stdout!), 'line')) as [string]
  url = (JSON.parse(line) as { listening: string }).listening
  writeFileSync(join(home.path, 'damaged.db'), 'no database, although its name says so\n'.repeat(200))
  writeFileSync(join(home.path, 'file'), '')
  mkdirSync(join(home.path, 'none'))
  await ask(silent.url, 'silent.db')
  await plimsoll(home.path, ['chat', '--provider', 'demo', '--prompt', 'list', '--store', 'sqlite:./sealed.db'], {
    env: { PLIMSOLL_KEY: KEY },
  })
}, 120_000)
afterAll(async () => {
  proxy.kill()
  await once(proxy, 'close')
  stranger.close()
  await Promise.all([referee.close(), silent.close(), home.remove()])
})

/** One call of an agent, by `plimsoll chat` at this upstream. */
const ask = (upstream: string, store: string) =>
  plimsoll(home.path, ['chat', '--prompt', 'Where is the lantern?', '--store', `sqlite:./${store}`], {
    env: { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: upstream },
  })

interface SetUp {
  readonly what: string
  readonly env?: () => Readonly<Record<string, string>>
  readonly args?: () => readonly string[]
  /** The check that names it, and the words. */
  readonly says: readonly [check: string, words: string]
  /** Requests pass all the same. */
  readonly works?: true
}

const BROKEN: readonly SetUp[] = [
  {
    what: 'a variable with a typing error',
    env: () => ({ PLIMSOLL_STORRE: 'sqlite:./a.db' }),
    says: ['environment', 'Did you mean PLIMSOLL_STORE?'],
  },
  {
    what: 'a client whose proxy does not run',
    env: () => ({ ANTHROPIC_BASE_URL: `${DEAD}/anthropic` }),
    says: ['ANTHROPIC_BASE_URL', `nothing listens on ${DEAD}, where ANTHROPIC_BASE_URL sends its requests`],
  },
  {
    what: 'a client at another server',
    env: () => ({ ANTHROPIC_BASE_URL: `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/anthropic` }),
    says: ['ANTHROPIC_BASE_URL', 'is no proxy of Plimsoll (status 404)'],
  },
  {
    what: 'a path that leads to no upstream',
    env: () => ({ ANTHROPIC_BASE_URL: `${url}/antropic` }),
    says: ['ANTHROPIC_BASE_URL', 'No upstream for "/antropic/v1/models"'],
  },
  {
    what: 'an upstream that cannot be reached',
    env: () => ({ OPENAI_BASE_URL: `${url}/openai/v1` }),
    says: ['OPENAI_BASE_URL', 'The upstream 127.0.0.1:1 failed: ECONNREFUSED'],
  },
  {
    what: 'a client that goes past the proxy',
    env: () => ({ ANTHROPIC_BASE_URL: 'https://llm.example.org' }),
    says: ['ANTHROPIC_BASE_URL', 'https://llm.example.org is not a proxy on this machine'],
    works: true,
  },
  {
    what: 'a store that is no database',
    args: () => ['--store', 'sqlite:./damaged.db'],
    says: ['store', 'damaged.db'],
  },
  {
    what: 'a store below a file',
    args: () => ['--store', 'sqlite:./file/plimsoll.db'],
    says: ['store', 'cannot be written'],
  },
  {
    what: 'an encrypted store without its key',
    args: () => ['--store', 'sqlite:./sealed.db'],
    says: ['store', 'is encrypted and no key was given'],
  },
  {
    what: 'artifacts that cannot be written',
    args: () => ['--store', 'sqlite:./silent.db', '--artifacts', 'file:./file/artifacts'],
    says: ['artifacts', 'file'],
  },
  {
    what: 'a provider that reports no usage',
    args: () => ['--store', 'sqlite:./silent.db'],
    says: ['usage', 'without usage'],
    works: true,
  },
]

const doctor = (env: Readonly<Record<string, string>> = {}, args: readonly string[] = []) =>
  plimsoll(home.path, ['doctor', '--upstream', referee.url, ...args], { env })

describe('plimsoll doctor', () => {
  it.each(BROKEN)('names the cause: $what', async ({ env, args, says: [check, words], works }) => {
    const { code, out } = await doctor(env?.(), args?.())
    const line = out.split('\n').find((one) => one.slice(2).startsWith(`${check}: `))
    expect(line, out).toContain(words)
    expect([line!.slice(0, 1), code]).toEqual(works === true ? ['!', 0] : ['✗', 3])
    expect(out).toContain(
      works === true ? 'Yes: this installation works. Warnings: ' : 'No: this installation does not work.',
    )
    expect(out.slice(out.lastIndexOf('\n', out.length - 2))).toContain(check)
  })

  it('says yes along the whole chain: client, proxy, upstream, store, usage', async () => {
    expect((await ask(`${url}/anthropic`, 'plimsoll/plimsoll.db')).code).toBe(0)
    const { code, out } = await doctor({ ANTHROPIC_BASE_URL: `${url}/anthropic` })
    expect(code, out).toBe(0)
    for (const line of [
      `✓ ANTHROPIC_BASE_URL: ${url}/anthropic: through the proxy; its upstream answers `,
      '✓ upstream given: ',
      '✓ store: ',
      '✓ usage: 1 call in the newest session',
    ])
      expect(out).toContain(line)
    expect(out).toContain('Yes: this installation works.')
  })
})
