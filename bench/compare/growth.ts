/** What one more call costs when the history is long: the same history for everybody, cut to the same budget. */
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

type Make = (messages: ReturnType<typeof incident>) => Promise<Peer>

const PEERS: readonly (readonly [name: string, make: Make])[] = [
  ['LangChain trimMessages', (messages) => langchain(messages, BUDGET)],
  ['Mastra TokenLimiter', (messages) => mastra(messages, BUDGET)],
  ['Strands sliding window', (messages) => strands(messages, false)],
]

export async function growth(): Promise<readonly Growth[]> {
  const rows: Growth[] = []
  const own: number[] = []
  for (const size of SIZES) own.push(await ours(size))
  rows.push({ name: 'Plimsoll', ms: own })
  for (const [name, make] of PEERS) {
    const ms: number[] = []
    for (const size of SIZES) {
      const peer = await make(incident(size))
      ms.push(await median(() => peer.trim()))
    }
    rows.push({ name, ms })
  }
  return rows
}
