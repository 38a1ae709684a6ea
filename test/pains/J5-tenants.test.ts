import { describe, expect, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { testEngine } from '../support/engine.ts'
import { withFolder } from '../stores/support/temporary.ts'
import { runLoop } from './support/loop.ts'

const secret = Buffer.alloc(32, 5)
const bytes = Buffer.from('the same words of two customers')

describe('J5: two tenants', () => {
  it.each(['memory', 'file'])('with identical bytes cannot read or delete each other’s copy (%s)', async (driver) => {
    await withFolder(async (directory) => {
      const store = driver === 'memory' ? memoryArtifacts({ secret }) : fileArtifacts({ directory, secret })
      const [a, b] = [await store.put('a', bytes), await store.put('b', bytes)]
      expect(a.handle).not.toBe(b.handle)
      expect(await store.read('b', a.handle)).toBeUndefined()
      expect(await store.stat('a', b.handle)).toBeUndefined()
      expect(await store.remove('b', a.handle)).toBe(false)
      expect(await store.remove('a', a.handle)).toBe(true)
      expect(Buffer.from((await store.read('b', b.handle))!).equals(bytes)).toBe(true)
      await store.close()
    })
  })

  it('never share an epoch or a search hit, also with the same transcript and session name', async () => {
    const { deps, events } = testEngine()
    const of = (tenant: string) => createSession(async () => deps, { id: 's', tenant })
    const one = await runLoop(of('a'), { from: 70, to: 70 })
    expect(await deps.sessions.search('b', 'value_3_1')).toEqual([])
    expect((await deps.sessions.search('a', 'value_3_1')).length).toBeGreaterThan(0)
    const two = await runLoop(of('b'), { from: 70, to: 70 })
    expect(two.report.newEpoch).toBeDefined()
    expect(one.report.newEpoch).toBeDefined()
    expect(events.filter((event) => event.type === 'epoch-declared').map(({ tenant }) => tenant)).toEqual(['a', 'b'])
  })
})
