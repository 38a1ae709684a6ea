/**
 * Times one contender in a process of its own, in milliseconds of processor time. The file holds the bodies of requests: a small one that loads
 * what is loaded on first use, the one that is measured, and others that make the code warm.
 */
import { readFileSync } from 'node:fs'
import type { createPlimsoll as create } from '../../src/index.ts'
import { loadContender } from './contenders.ts'
import type { ChatMessage } from './incident.ts'
import { loadPeer } from './tokenizer-peers.ts'

export interface Bodies {
  readonly small: string
  readonly large: string
  /** As large, each of other text. */
  readonly others: readonly string[]
}

export interface ColdRun {
  /** From the import to the end of the first small request. */
  readonly load: number
  readonly time: number
  readonly tokens: number
}

/** What is done with a body; resolves to its tokens. */
type Work = (body: string) => Promise<number>

/** @public The child process of `bench/cold.ts` calls it. */
export async function timeCold(name: string, file: string, state: string): Promise<ColdRun> {
  const { small, large, others } = JSON.parse(readFileSync(file, 'utf8')) as Bodies
  const started = process.cpuUsage()
  const work = name.startsWith('prepare')
    ? await preparing(name === 'prepare, archived meanwhile')
    : await counting(name)
  await work(small)
  const load = since(started)
  if (state === 'warm') for (const other of others) await work(other)
  // What earlier requests left to be done is not this one's.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const before = process.cpuUsage()
  const tokens = await work(large)
  return { load, time: since(before), tokens }
}

async function preparing(meanwhile: boolean): Promise<Work> {
  // As it is installed: what it takes to translate sources is not part of it.
  const entry = new URL('../../dist/index.js', import.meta.url).href
  const { createPlimsoll } = (await import(entry)) as { createPlimsoll: typeof create }
  const plimsoll = createPlimsoll({ store: 'memory:' })
  let sessions = 0
  return async (body) => {
    const session = plimsoll.session({ id: `cold-${sessions++}` })
    const asked = { format: 'openai-chat', body, ...(meanwhile && { archive: 'meanwhile' as const }) }
    return (await session.prepare(asked)).load.count.tokens
  }
}

/** The least that an exact count of a request takes: its parsing, and the tokens of every text in it. */
async function counting(name: string): Promise<Work> {
  const count = (await loadPeer(name)) ?? (await loadContender(name))
  return async (body) => {
    const { messages } = JSON.parse(body) as { messages: readonly ChatMessage[] }
    let total = 0
    for (const { content, tool_calls: calls = [] } of messages) {
      if (content !== null) total += count(content)
      for (const call of calls) total += count(call.function.name) + count(call.function.arguments)
    }
    return total
  }
}

function since(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
