import { describe, expect, it } from 'vitest'
import type { LogRecord } from '../../src/core/records.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('G6: a compaction that is interrupted at any await', () => {
  it('has either happened or not: the same process and a new one send the same bytes afterwards', async () => {
    let interrupted = 0
    for (let at = 0; at < 10; at++) {
      const sessions = memoryStore()
      let left = Infinity
      const stopping = new Proxy(sessions, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key)
          if (typeof value !== 'function' || key === 'read') return value
          return async (...args: unknown[]) => {
            if (left-- <= 0) throw new DOMException('stopped', 'AbortError')
            return (value as (...args: unknown[]) => unknown).apply(target, args)
          }
        },
      })
      const engine = testEngine({ sessions })
      const deps = { ...engine.deps, sessions: stopping }
      const agent = createSession(async () => deps, { id: 'test' })
      await runLoop(agent, { to: 30, resultLength: 500 })
      const status = await agent.status()
      await agent.compact()
      left = at
      const failed = await runLoop(agent, { from: 31, to: 31, resultLength: 500 }).then(
        () => false,
        () => true,
      )
      left = Infinity
      if (failed) {
        interrupted++
        // Nothing half: an epoch in the log is whole, and the status is the one before.
        expect((await agent.status()).used).toBe(status.used)
      }
      const records: LogRecord[] = []
      for await (const { record } of sessions.read('local', 'test')) records.push(record)
      for (const record of records.filter(({ type }) => type === 'epoch'))
        expect(record).toMatchObject({ after: expect.any(Number), edits: expect.any(Array) })
      const same = await runLoop(agent, { from: 31, to: 31, resultLength: 500 })
      const fresh = await runLoop(testEngine({ sessions }).session(), { from: 31, to: 31, resultLength: 500 })
      expect(fresh.text === same.text).toBe(true)
    }
    expect(interrupted).toBeGreaterThan(2)
  })
})
