/** What one more call costs when the history is long: the same history for everybody, cut to the same budget. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createPlimsoll } from '../../src/index.ts'
import { incident } from '../lib/incident.ts'
import { langchain, mastra, strands, type Peer } from '../lib/peers.ts'
import { quantile } from '../lib/statistics.ts'

export const SIZES = [10, 100, 1_000, 10_000] as const
const BUDGET = 32_000
const WINDOW = 36_000
const TIMES = 5

export interface Growth {
  readonly name: string
  /** Median milliseconds by size. */
  readonly ms: readonly number[]
  /** Bytes that are held between calls, by size; the messages themselves left out. */
  readonly bytes: readonly number[]
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Twice: what the first run finalises, the second frees. */
function heldNow(): number {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** What is held after `work`, as long as its answer lives. */
async function heldBy(work: () => Promise<{ release(): Promise<void> | void }>): Promise<number> {
  const before = heldNow()
  const held = await work()
  const bytes = Math.max(0, heldNow() - before)
  await held.release()
  return bytes
}

async function median(work: (time: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < TIMES; time++) {
    const start = performance.now()
    await work(time)
    times.push(performance.now() - start)
  }
  return quantile(times, 0.5)
}

/** A client that sends its whole history again with two messages more each time, as text. */
async function ours(size: number): Promise<number> {
  const messages = incident(size + 2 * TIMES + 2)
  const body = (length: number): string =>
    JSON.stringify({ model: 'gpt-4.1', max_tokens: 1_000, messages: messages.slice(0, length) })
  const plimsoll = createPlimsoll({ store: 'memory:', window: WINDOW, sql: false, sandbox: false })
  const session = plimsoll.session({ id: `growth-${size}` })
  await session.prepare({ format: 'openai-chat', body: body(size) })
  const bodies = Array.from({ length: TIMES }, (_, i) => body(size + 2 * (i + 1)))
  const ms = await median((time) => session.prepare({ format: 'openai-chat', body: bodies[time]! }))
  await plimsoll.close()
  return ms
}

/** With the default store, a file, as an installation has it. */
async function oursHolds(size: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-growth-'))
  const messages = incident(size)
  return heldBy(async () => {
    const store = { store: `sqlite:${join(folder, 'plimsoll.db')}`, artifacts: `file:${join(folder, 'artifacts')}` }
    const plimsoll = createPlimsoll({ ...store, window: WINDOW, sql: false, sandbox: false })
    const session = plimsoll.session({ id: `held-${size}` })
    for (const length of [size - 2, size])
      await session.prepare({
        format: 'openai-chat',
        body: JSON.stringify({ model: 'gpt-4.1', max_tokens: 1_000, messages: messages.slice(0, length) }),
      })
    return {
      async release() {
        await plimsoll.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  })
}

type Make = (messages: ReturnType<typeof incident>) => Promise<Peer>

const PEERS: readonly (readonly [name: string, make: Make])[] = [
  ['LangChain trimMessages', (messages) => langchain(messages, BUDGET)],
  ['Mastra TokenLimiter', (messages) => mastra(messages, BUDGET)],
  ['Strands sliding window', (messages) => strands(messages, false)],
]

export async function growth(): Promise<readonly Growth[]> {
  const rows: Growth[] = []
  const own: number[] = []
  const ownBytes: number[] = []
  // What is loaded once is no part of what a history costs.
  await oursHolds(SIZES[0])
  for (const size of SIZES) own.push(await ours(size))
  for (const size of SIZES) ownBytes.push(await oursHolds(size))
  rows.push({ name: 'Plimsoll', ms: own, bytes: ownBytes })
  for (const [name, make] of PEERS) {
    const ms: number[] = []
    const bytes: number[] = []
    for (const size of SIZES) {
      const messages = incident(size)
      const peer = await make(messages)
      ms.push(await median(() => peer.trim()))
      const held = await heldBy(async () => {
        const one = await make(messages)
        await one.trim()
        return { release: () => void one }
      })
      bytes.push(held)
    }
    rows.push({ name, ms, bytes })
  }
  return rows
}
