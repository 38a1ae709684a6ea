import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, get, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/*
 * One request, whatever is in it, must not keep the others waiting: the proxy as it is built runs in a process of its own, and while it works
 * on a hostile body its health route is asked again and again. How long a machine takes for anything is its own affair, so the longest pause
 * is held against what parsing, writing and hashing sixteen megabytes takes on the same machine, in the same minute.
 */

const TOOLS = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object', properties: {} } } }]

const chat = (messages: readonly object[]): string => JSON.stringify({ model: 'gpt-4o', tools: TOOLS, messages })

const resultOf = (text: string): string =>
  chat([
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'bash', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: text },
  ])

function linesOf(megabytes: number, line: (i: number) => string): string {
  const lines: string[] = []
  for (let i = 0, size = 0; size < megabytes * 1e6; i++) {
    lines.push(line(i))
    size += lines[i]!.length + 1
  }
  return lines.join('\n')
}

const logLine = (i: number): string =>
  `2026-11-15T10:${String(i % 60).padStart(2, '0')}:00Z INFO worker-${i % 17} handled id=${(i * 7919) % 1e6} in ${i % 900} ms`

const BODIES: Readonly<Record<string, () => string>> = {
  'a result of long lines': () => resultOf(linesOf(16, () => 'A'.repeat(1_900))),
  'a log as a result': () => resultOf(linesOf(16, logLine)),
  'a table as a result': () => resultOf(`id,name,text\n${linesOf(16, (i) => `${i},n${i},some text ${i}`)}`),
  'JSON as a result': () => resultOf(`[${linesOf(16, (i) => `${JSON.stringify({ id: i, name: `n${i}` })},`)}0]`),
  'a log that somebody pasted': () => chat([{ role: 'user', content: linesOf(16, logLine) }]),
  'thirty thousand messages': () =>
    chat(Array.from({ length: 30_000 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `message ${i}` }))),
  'JSON a million deep': () =>
    `{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"metadata":${'['.repeat(1e6)}${']'.repeat(1e6)}}`,
}

/** Pauses that are longer than this many times the reference are stalls. Before work was cut up they were twenty to four hundred times. */
const MOST = 4

describe('while one request is worked on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-stalls-'))
  let upstream: Server
  let proxy: ChildProcess
  let port: number

  beforeAll(async () => {
    upstream = createServer((incoming, response) => {
      incoming.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER))
    })
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    const main = join(import.meta.dirname, '../../dist/cli/main.js')
    proxy = spawn(process.execPath, [main, 'proxy', '--port', '0', '--json', '--openai', url], {
      env: { PATH: process.env['PATH'], HOME: folder, PLIMSOLL_HOME: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: proxy.stdout! })) {
      const { listening } = JSON.parse(line) as { listening?: string }
      if (listening === undefined) continue
      port = Number(new URL(listening).port)
      break
    }
    proxy.stdout!.resume()
    await post(chat([{ role: 'user', content: 'warm' }]))
  }, 60_000)

  afterAll(async () => {
    const ended = new Promise((resolve) => proxy.once('exit', resolve))
    proxy.kill('SIGKILL')
    await ended
    upstream.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const post = (body: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const path = '/openai/v1/chat/completions'
      request({ agent: false, port, host: '127.0.0.1', path, method: 'POST', headers }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode!))
      })
        .on('error', reject)
        .end(body)
    })

  const health = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const startedAt = performance.now()
      // A connection of its own: one that is kept may be closed on the other side while this process is busy.
      get({ agent: false, port, host: '127.0.0.1', path: '/healthz' }, (answer) => {
        answer.resume().on('end', () => resolve(performance.now() - startedAt))
      }).on('error', reject)
    })

  /** The longest wait for the health route while something goes on, and for a while after it: not all work is over with the answer. */
  async function longestPause(work: () => Promise<unknown>): Promise<number> {
    let isOver = false
    const asked = (async () => {
      let longest = 0
      while (!isOver) {
        longest = Math.max(longest, await health())
        await delay(5)
      }
      return longest
    })()
    await work()
    await delay(1_000)
    isOver = true
    return asked
  }

  it.each(Object.entries(BODIES))(
    'nobody waits for %s',
    async (_name, make) => {
      const body = make()
      // What else runs on the machine only adds to a pause: the shortest of three is the proxy's own.
      const ratios: number[] = []
      for (let i = 0; i < 3 && (ratios.length === 0 || Math.min(...ratios) > MOST); i++) {
        const idle = await longestPause(() => delay(500))
        const pause = await longestPause(() => post(body))
        ratios.push(pause / (referenceMs() + idle))
      }
      expect(Math.min(...ratios)).toBeLessThan(MOST)
    },
    180_000,
  )
})

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
})

const REFERENCE = resultOf(linesOf(16, logLine))

function referenceMs(): number {
  const startedAt = performance.now()
  createHash('sha256')
    .update(JSON.stringify(JSON.parse(REFERENCE)))
    .digest('hex')
  return performance.now() - startedAt
}
