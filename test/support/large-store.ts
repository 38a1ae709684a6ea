import { RECORD_VERSION, type LogRecord } from '../../src/core/records.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'

export interface LargeStore {
  readonly sessions: number
  readonly calls: number
}

const BEGIN = Date.UTC(2026, 0, 1)

/** A store with many sessions of many calls each, as a proxy that ran for weeks leaves it. */
export async function largeStore({ sessions, calls }: LargeStore): Promise<MaintainedStore> {
  const store = memoryStore()
  for (let s = 0; s < sessions; s++) {
    const records = Array.from({ length: calls }, (_, call) => anotherCall(s, call)).flat()
    await store.append('local', `session-${String(s).padStart(5, '0')}`, records)
  }
  return store
}

/** A tool result and the call that it was sent with. */
export function anotherCall(session: number, call: number): readonly LogRecord[] {
  const at = BEGIN + session * 60_000 + call * 5_000
  const identity = `i${session}-${call}`
  const input = 2_000 + 400 * (call % 90)
  return [
    {
      v: RECORD_VERSION,
      at,
      type: 'item-seen',
      identity,
      chain: identity,
      kind: 'result',
      role: 'user',
      callId: `c${call}`,
      toolName: 'bash',
      text: `output ${call} of session ${session}: ${'word '.repeat(40)}`,
      fragment: '{}',
    },
    {
      v: RECORD_VERSION,
      at,
      type: 'usage',
      turn: `t${call}`,
      model: 'claude-sonnet-4-5',
      usage: { input, cacheRead: input - 400, cacheWrite: 400, output: 60, reasoning: 0 },
      costUsd: 0.01,
      estimated: input,
      limit: { tokens: 60_000, window: 64_000, buffer: 0, outputReserve: 4_000, bytes: 32_000_000, source: 'config' },
      purpose: 'turn',
    },
  ]
}
