import assert from 'node:assert/strict'
import { handleOf } from '../../core/handles.ts'
import { assertReads, present, text, type Body } from './subject.ts'

/** No name and no handle leads to what belongs to somebody else. */
export const tenantCases: Record<string, Body> = {
  async 'keeps tenants apart, even when they store the same bytes'(store) {
    const ours = await store.put('a', text('shared'))
    const theirs = await store.put('b', text('shared'))
    assert.notEqual(ours.handle, theirs.handle)
    assert.equal(await store.read('b', ours.handle), undefined)
    assert.equal(await store.stat('b', ours.handle), undefined)
    assert.equal(await store.remove('b', ours.handle), false)
    await store.reference('b', 's', [ours.handle])
    assert.equal((await store.list('b')).length, 1)
    assert.equal(await store.remove('a', ours.handle), true)
    await assertReads(store, 'b', theirs.handle, text('shared'))
  },
  async 'keeps apart tenants and sessions with hostile names'(store) {
    const names = [
      'a',
      'A',
      '../a',
      'a/b',
      '..',
      '.',
      '',
      'a\u0000b',
      '\u2024\u2024/a',
      'ä',
      'a\u0308',
      '%2e%2e',
      'con',
      'x'.repeat(5000),
    ]
    for (const name of names) await store.put(name, text(`of ${name}`), { session: name })
    for (const name of names) {
      const stats = await store.list(name, { session: name })
      assert.equal(stats.length, 1, JSON.stringify(name.slice(0, 20)))
      await assertReads(store, name, present(stats[0]).handle, text(`of ${name}`))
    }
  },
  async 'knows nothing of handles that it did not give'(store) {
    await store.put('a', text('x'))
    const forged = handleOf(new Uint8Array(32).fill(7))
    const strange = [
      forged,
      '',
      '..',
      '../../x',
      '/etc/passwd',
      'art_',
      `${forged}/..`,
      `${forged}\u0000`,
      'art_' + '.'.repeat(26),
      'x'.repeat(10_000),
    ]
    for (const handle of strange) {
      assert.equal(await store.read('a', handle), undefined)
      assert.equal(await store.stat('a', handle), undefined)
      assert.equal(await store.remove('a', handle), false)
      await store.reference('a', 's', [handle])
    }
    assert.deepEqual(await store.list('a', { session: 's' }), [])
  },
}
