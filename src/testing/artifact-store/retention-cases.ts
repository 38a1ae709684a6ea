import assert from 'node:assert/strict'
import { assertReads, present, putMany, SECOND, text, type Body } from './subject.ts'

/** What may go, and what must not. */
export const retentionCases: Record<string, Body> = {
  async 'prunes nothing by an empty rule or below the clean-up mark'(store, clock) {
    await putMany(store, clock, 149)
    assert.deepEqual(await store.prune('a', {}), [])
    assert.deepEqual(await store.prune('a', { keep: 100, cleanAt: 150 }), [])
    assert.equal((await store.list('a')).length, 149)
  },
  async 'keeps the newest 100 once there are 150'(store, clock) {
    const handles = await putMany(store, clock, 150)
    assert.deepEqual(await store.prune('a', { keep: 100, cleanAt: 150 }), handles.slice(0, 50))
    assert.deepEqual((await store.list('a')).map((stat) => stat.handle).toReversed(), handles.slice(50))
    assert.equal(await store.read('a', present(handles[0])), undefined)
  },
  async 'never prunes what a live session put or references'(store, clock) {
    const [own, cited, loose] = [
      await store.put('a', text('own'), { session: 'live' }),
      await store.put('a', text('cited'), { session: 'done' }),
      await store.put('a', text('loose'), { session: 'done' }),
    ]
    await store.reference('a', 'live', [cited.handle])
    await store.release('a', 'done')
    clock.advance(1000 * SECOND)
    assert.deepEqual(await store.prune('a', { keep: 0, maxAgeMs: 1 }), [loose.handle])
    await assertReads(store, 'a', own.handle, text('own'))
    await store.release('a', 'live')
    assert.deepEqual(new Set(await store.prune('a', { keep: 0 })), new Set([own.handle, cited.handle]))
    assert.deepEqual(await store.list('a'), [])
  },
  async 'prunes by age, and counts a repeated put as young'(store, clock) {
    const old = await store.put('a', text('old'))
    const renewed = await store.put('a', text('renewed'))
    clock.advance(100 * SECOND)
    await store.put('a', text('renewed'))
    await store.put('a', text('new'))
    assert.deepEqual(await store.prune('a', { maxAgeMs: 50 * SECOND }), [old.handle])
    assert.ok(await store.stat('a', renewed.handle))
  },
  async 'prunes one tenant only'(store) {
    await store.put('a', text('x'))
    await store.put('b', text('x'))
    assert.equal((await store.prune('a', { keep: 0 })).length, 1)
    assert.equal((await store.list('b')).length, 1)
  },
  async 'takes back what was pruned or removed'(store) {
    const first = await store.put('a', text('again'), { session: 's' })
    await store.release('a', 's')
    await store.prune('a', { keep: 0 })
    assert.equal((await store.put('a', text('again'))).handle, first.handle)
    assert.equal(await store.remove('a', first.handle), true)
    assert.equal(await store.remove('a', first.handle), false)
    await store.put('a', text('again'))
    await assertReads(store, 'a', first.handle, text('again'))
  },
  async 'forgets the references to what was removed'(store) {
    const { handle } = await store.put('a', text('gone'), { session: 's' })
    await store.remove('a', handle)
    await store.put('a', text('gone'))
    assert.deepEqual(await store.prune('a', { keep: 0 }), [handle])
  },
}
