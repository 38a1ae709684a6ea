import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { json, MESSAGE, ODD_BODY, plainUpstream, post } from '../gateway/upstream.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { BINARY, cleanEnvironment, plimsoll, temporaryHome } from './support/binary.ts'

let home: Awaited<ReturnType<typeof temporaryHome>>
beforeAll(async () => {
  home = await temporaryHome()
})
afterAll(() => home.remove())

async function usedPort(): Promise<{ port: number; close: () => void }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

async function running(args: readonly string[]) {
  const child = spawn(process.execPath, [BINARY, 'proxy', '--json', '--port', '0', '--store', 'memory:', ...args], {
    env: cleanEnvironment(home.path),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { child, url: (JSON.parse(line) as { listening: string }).listening }
}

describe('the address of the page', () => {
  it.each([[[]], [['--json']]])('opens it and holds no token that lasts %j', async (more) => {
    const tokens = { PLIMSOLL_OPERATOR_TOKEN: 'the-permanent-one', PLIMSOLL_TOKEN: 'the-clients-own' }
    const child = spawn(process.execPath, [BINARY, 'proxy', '--port', '0', '--store', 'memory:', ...more], {
      env: { ...cleanEnvironment(home.path), ...tokens },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    try {
      let printed = ''
      const read = (piece: Buffer): void => void (printed += piece.toString())
      child.stdout.on('data', read)
      child.stderr.on('data', read)
      const page = /http:\/\/[\w.:]+\/t\/[\w-]+\//
      await expect.poll(() => page.test(printed), { timeout: 30_000 }).toBe(true)
      const [url] = page.exec(printed)!
      for (const token of Object.values(tokens)) expect(printed).not.toContain(token)
      expect((await fetch(`${url}plimsoll/ui/sessions`)).status).toBe(200)
      expect((await fetch(url)).status).toBe(200)
      // It is for looking: no model call leaves with it.
      expect((await fetch(`${url}anthropic/v1/messages`, { method: 'POST', body: '{}' })).status).toBe(401)
    } finally {
      child.kill()
      await once(child, 'exit')
    }
  })
})

describe('plimsoll proxy, told something it cannot do', () => {
  it.each([
    { args: ['--port', '99999'], says: /a port, between 0 and 65535/ },
    { args: ['--port', '80a'], says: /a port, between 0 and 65535/ },
    { args: ['--policy', 'nonsense'], says: /There is no policy "nonsense"\. Known policies: plimsoll, / },
    { args: ['--window', '64x'], says: /tokens like 128000 or 128k, not "64x"/ },
    { args: ['--log-level', 'loud'], says: /one of debug, info, warning, error, not "loud"/ },
    {
      args: ['--openai', 'ftp://there'],
      says: /The upstream "ftp:\/\/there" of openai is not an http or https address\./,
    },
  ])('refuses $args at the start, in a sentence', async ({ args, says }) => {
    const { code, out, err } = await plimsoll(home.path, ['proxy', '--store', 'memory:', '--port', '0', ...args])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(says)
    expect(err.split('\n')[0]).not.toMatch(/^\s*at |Error:/)
  })

  it('says that its port is in use', async () => {
    const used = await usedPort()
    try {
      const { code, err } = await plimsoll(home.path, ['proxy', '--port', String(used.port)])
      expect(code).toBe(2)
      expect(err).toContain(`cannot listen on 127.0.0.1:${used.port}: the port is in use.`)
    } finally {
      used.close()
    }
  })
})

describe('plimsoll proxy', () => {
  // A setting of V8 that this Node does not know would be told there by V8 itself.
  it('starts and ends without a word of complaint', async () => {
    const { child } = await running([])
    let complaints = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
    child.stdout.resume()
    child.kill('SIGTERM')
    await once(child, 'close')
    expect(complaints).toBe('')
  })

  it('writes events from the level that it was given on to standard error', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { child, url } = await running(['--anthropic', upstream.url, '--log-level', 'debug'])
    const written = once(createInterface(child.stderr), 'line') as Promise<[string]>
    expect((await post(`${url}/anthropic/v1/messages`, ODD_BODY)).status).toBe(200)
    const [line] = await written
    expect(JSON.parse(line)).toMatchObject({ level: 'debug', event: 'request-prepared' })
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('serves on when the disk is full, says so once, and exits with an error since something was not written', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    // A file-size limit stops writes as a full disk does, and needs no right to mount one.
    const proxy = [BINARY, 'proxy', '--json', '--port', '0', '--store', `sqlite:${join(home.path, 'full.db')}`]
    const child = spawn(
      'sh',
      ['-c', 'ulimit -f 600; exec "$@"', 'sh', process.execPath, ...proxy, '--anthropic', upstream.url],
      { env: cleanEnvironment(home.path), stdio: ['ignore', 'pipe', 'pipe'] },
    )
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const { listening } = JSON.parse(line) as { listening: string }
    for (let i = 1; i <= 12; i++) {
      const body = JSON.stringify(toolLoop({ steps: i, resultLength: 60_000 }))
      expect((await post(`${listening}/anthropic/v1/messages`, body)).status).toBe(200)
    }
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([1, null])
    expect(said.match(/WARNING: the session store does not work, and requests go on without it: .+/g)).toHaveLength(1)
    expect(said).toMatch(/The last log entries of 1 session\(s\) could not be written to the store\./)
  })

  it('goes on when nobody reads what it says any more', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { child, url } = await running(['--anthropic', upstream.url])
    child.stdout.destroy()
    child.stderr.destroy()
    for (let i = 0; i < 3; i++) {
      child.kill('SIGHUP')
      expect((await post(`${url}/anthropic/v1/messages`, ODD_BODY)).status).toBe(200)
    }
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('takes a window as people write it, and names the upstream that failed', async () => {
    const gone = await usedPort()
    gone.close()
    const { child, url } = await running(['--window', '64k', '--anthropic', `http://127.0.0.1:${gone.port}`])
    const response = await post(`${url}/anthropic/v1/messages`, ODD_BODY)
    expect(response.status).toBe(502)
    expect(await response.text()).toContain(`The upstream 127.0.0.1:${gone.port} failed: ECONNREFUSED.`)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
