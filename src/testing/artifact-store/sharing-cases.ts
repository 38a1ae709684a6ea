import assert from 'node:assert/strict'
import { assertReads, present, randomBytes, text, type Body } from './subject.ts'

/** Several writers, several openers, and a store that is opened again. */
export const sharingCases: Record<string, Body> = {
  async 'takes 20 concurrent writers of the same and of different bytes'(store) {
    const same = randomBytes(50_000)
    const stats = await Promise.all(
      Array.from({ length: 20 }, (_, i) => [
        store.put('a', same, { tool: 'same' }),
        store.put('a', text(`different ${i}`)),
      ]).flat(),
    )
    assert.equal(new Set(stats.map((stat) => stat.handle)).size, 21)
    assert.equal((await store.list('a')).length, 21)
    await assertReads(store, 'a', present(stats[0]).handle, same)
    for (const [i, { handle }] of stats.filter((_, i) => i % 2 === 1).entries()) {
      await assertReads(store, 'a', handle, text(`different ${i}`))
    }
  },
  async 'loses nothing that was put while another prunes'(store) {
    const contents = Array.from({ length: 10 }, (_, i) => `contended ${i}`)
    for (let round = 0; round < 10; round++) {
      const session = `s${round}`
      const [stats] = await Promise.all([
        Promise.all(contents.map((content) => store.put('a', text(content), { session }))),
        store.prune('a', { keep: 0 }),
        store.prune('a', { keep: 0 }),
      ])
      for (const [i, { handle }] of stats.entries()) {
        await assertReads(store, 'a', handle, text(present(contents[i])), `round ${round}, ${contents[i]}`)
      }
      await store.release('a', session)
    }
  },
}

/** For stores whose data outlives the object. */
export const durableCases: Record<string, Body> = {
  async 'is the same store when it is opened again'(store, _clock, again) {
    const kept = await store.put('a', text('kept'), { tool: 'bash', session: 's' })
    const loose = await store.put('a', text('loose'))
    await store.close()
    const reopened = await again()
    assert.deepEqual(await reopened.stat('a', kept.handle), kept)
    await assertReads(reopened, 'a', kept.handle, text('kept'))
    assert.deepEqual(await reopened.prune('a', { keep: 0 }), [loose.handle])
    assert.equal((await reopened.put('a', text('kept'))).handle, kept.handle)
    await reopened.close()
  },
  async 'is one store for two openers'(store, _clock, again) {
    const other = await again()
    const { handle } = await store.put('a', text('x'))
    await assertReads(other, 'a', handle, text('x'))
    await other.reference('a', 'theirs', [handle])
    assert.deepEqual(await store.prune('a', { keep: 0 }), [])
    await other.release('a', 'theirs')
    assert.deepEqual(await store.prune('a', { keep: 0 }), [handle])
    assert.equal(await other.stat('a', handle), undefined)
    await other.close()
  },
}
