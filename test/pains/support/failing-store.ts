import { expect } from 'vitest'
import type { LogRecord } from '../../../src/core/records.ts'
import { memoryArtifacts } from '../../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../../src/drivers/sessions/memory.ts'
import type { EngineDeps } from '../../../src/engine/deps.ts'
import { createSession, type Session } from '../../../src/engine/session/session.ts'
import type { SessionStore } from '../../../src/ports/session-store.ts'
import { toolLoop } from '../../support/anthropic-loop.ts'
import { testEngine } from '../../support/engine.ts'
import { ANTHROPIC, targets } from './loop.ts'

const secret = Buffer.alloc(32, 7)

/** Counts every call and lets the n-th of them fail; the calls before it really happen. */
function failing<T extends object>(store: T, before: () => void): T {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value !== 'function' || key === 'read') return value
      return (...args: unknown[]) => {
        before()
        return (value as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}

async function recordsOf(sessions: SessionStore): Promise<LogRecord[]> {
  const records: LogRecord[] = []
  for await (const { record } of sessions.read('local', 'test')) records.push(record)
  return records
}

const request = (steps: number) => ({
  format: ANTHROPIC,
  body: JSON.stringify(toolLoop({ steps, resultLength: 900 })),
  targets: targets(),
})

/** Makes the request during which the store fails; says whether the failure was noticed. */
type Attempt = (
  prepare: () => ReturnType<Session['prepare']>,
  engine: ReturnType<typeof testEngine>,
) => Promise<boolean>

/** Lets a compaction fail at each of its calls to the stores in turn: nothing is lost, and the session goes on. */
export async function expectNothingLost(fault: Error, attempt: Attempt): Promise<void> {
  let failed = 0
  for (let at = 0; at < 12; at++) {
    const sessions = memoryStore()
    const artifacts = memoryArtifacts({ secret })
    let left = Infinity
    const trip = (): void => {
      if (left-- > 0) return
      left = Infinity
      throw fault
    }
    const engine = testEngine()
    const deps: EngineDeps = {
      ...engine.deps,
      sessions: failing(sessions, trip),
      artifacts: failing(artifacts, trip),
    }
    const agent = createSession(async () => deps, { id: 'test' })
    for (let steps = 1; steps <= 20; steps++) await agent.prepare(request(steps))
    const before = await recordsOf(sessions)
    await agent.compact()
    left = at
    if (await attempt(() => agent.prepare(request(21)), engine)) failed++
    left = Infinity
    // What was archived is there as it was.
    expect((await recordsOf(sessions)).slice(0, before.length)).toEqual(before)
    // The same session and a restarted one go on, with the same bytes.
    const again = await agent.prepare(request(22))
    const restarted = createSession(async () => ({ ...deps, sessions, artifacts }), { id: 'test' })
    expect((await restarted.prepare(request(22))).text === again.text).toBe(true)
    const archived = new Set((await recordsOf(sessions)).map((record) => ('fragment' in record ? record.fragment : '')))
    const blocks = toolLoop({ steps: 22, resultLength: 900 }).messages.flatMap(
      ({ content }) => content as object | string,
    )
    expect(blocks.filter((block) => !archived.has(JSON.stringify(block)))).toEqual([])
  }
  expect(failed).toBeGreaterThan(3)
}
