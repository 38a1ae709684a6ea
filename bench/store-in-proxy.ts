/*
 * What the store on disk costs the thread that serves requests: conversations of 150 KB, sixteen at a time, through the gateway in this process,
 * against the same on `memory:`. The disk is whatever TMPDIR lies on.
 *
 *   node --import tsx bench/store-in-proxy.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { createPlimsoll } from '../src/index.ts'

const CONNECTIONS = 16
const TURNS = 25
const SESSIONS_EACH = 1
/** A fast model. */
const ANSWERS_AFTER_MS = 300
const BODY_BYTES = 150_000

const ANSWER = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text: 'Done.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 40_000, output_tokens: 3 },
})

const words = 'the build failed because module config could not resolve path error line test passed request'.split(' ')
const prose = (seed: number, characters: number): string => {
  let text = ''
  for (let i = seed; text.length < characters; i++) text += `${words[(i * 7919) % words.length]} ${i % 977} `
  return text
}

async function conversation(fetch: typeof globalThis.fetch, session: string, seed: number): Promise<void> {
  const messages: { role: string; content: string }[] = Array.from({ length: 31 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: prose(seed + i, BODY_BYTES / 31),
  }))
  for (let turn = 0; turn < TURNS; turn++) {
    const response = await fetch('https://api.anthropic.com/v1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'x-plimsoll-session': session },
      body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 64, messages }),
    })
    await response.text()
    messages.push({ role: 'assistant', content: 'Done.' }, { role: 'user', content: prose(seed + turn, 1_500) })
  }
}

async function measure(store: string): Promise<string> {
  const plimsoll = createPlimsoll({
    store,
    async fetch() {
      await delay(ANSWERS_AFTER_MS * (0.5 + Math.random()))
      return new Response(ANSWER, { headers: { 'content-type': 'application/json' } })
    },
  })
  const fetch = plimsoll.fetch as typeof globalThis.fetch
  const all = async (round: string): Promise<void> => {
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, n) => {
        for (let i = 0; i < SESSIONS_EACH; i++)
          await conversation(fetch, `${round}-${n}-${i}`, n * 100_003 + i * 7 + round.length)
      }),
    )
  }
  await all('warm')
  const loop = monitorEventLoopDelay({ resolution: 1 })
  const before = performance.eventLoopUtilization()
  const cpu = process.cpuUsage()
  loop.enable()
  await all('measured')
  loop.disable()
  const { active } = performance.eventLoopUtilization(before)
  const { user, system } = process.cpuUsage(cpu)
  const requests = CONNECTIONS * SESSIONS_EACH * TURNS
  await plimsoll.close()
  const [p50, p99, most] = [loop.percentile(50), loop.percentile(99), loop.max].map((ns) => (ns / 1e6).toFixed(1))
  return `${(active / requests).toFixed(2)} ms of the loop and ${((user + system) / 1000 / requests).toFixed(2)} ms of processor per request; event-loop delay p50 ${p50}, p99 ${p99}, max ${most} ms`
}

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-'))
console.info(`memory: ${await measure('memory:')}`)
console.info(`sqlite: ${await measure(`sqlite:${join(folder, 'store.db')}`)}`)
rmSync(folder, { recursive: true })
