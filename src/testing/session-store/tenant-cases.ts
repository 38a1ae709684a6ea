import assert from 'node:assert/strict'
import { edit, epoch, item, readAll, undo } from './records.ts'
import { manualClock } from './subject.ts'
import type { StoreCase } from './subject.ts'

export const tenantCases: readonly StoreCase[] = [
  {
    name: 'keeps tenants apart, identical content and names included',
    async run(subject) {
      const store = await subject.open()
      const records = [item('a', 'the same secret'), epoch('e', 'c'), edit('k')]
      await store.append('A', 's', records)
      assert.equal(await store.version('B', 's'), 0)
      assert.deepEqual(await readAll(store, 'B', 's'), [])
      assert.deepEqual(await store.findEpochs('B', ['c']), [])
      assert.deepEqual(await store.findEdits('B', ['k']), [])
      assert.deepEqual(await store.seen('B', ['a']), new Set())
      assert.deepEqual(await store.seen('B', ['a'], { session: 's' }), new Set())
      assert.deepEqual(await store.search('B', 'secret'), [])
      assert.deepEqual(await store.list('B'), [])
      assert.equal(await store.remove('B', 's'), false)
      assert.deepEqual(await store.prune('B', Number.MAX_SAFE_INTEGER), [])
      await assert.rejects(store.fork('B', 's', 'stolen'))

      const own = await store.claimEpoch('B', 's', epoch('other', 'c'))
      assert.equal(own.epoch.id, 'other', 'a claim of one tenant does not block another')
      await store.append('B', 's', [undo('e')])
      assert.deepEqual(
        (await store.findEpochs('A', ['c']))[0]?.undoneIn,
        [],
        'an undo of one tenant does not reach another',
      )
      await store.remove('B', 's')
      assert.deepEqual((await readAll(store, 'A', 's')).length, 3)
    },
  },
  {
    name: 'does not let one tenant shift the search results of another',
    async run(subject) {
      const store = await subject.open()
      await store.append('A', 's', [item('a', 'kraken sighted', 1), item('b', 'kraken', 2)])
      const before = await store.search('A', 'kraken sighted')
      await store.append(
        'B',
        's',
        Array.from({ length: 80 }, (_, i) => item(`b${i}`, 'kraken sighted again and again', 100 + i)),
      )
      assert.deepEqual(await store.search('A', 'kraken sighted'), before)
      assert.equal((await store.search('A', 'kraken', { limit: 100 })).length, 2)
    },
  },
  {
    name: 'lists its tenants',
    async run(subject) {
      const store = await subject.open()
      assert.deepEqual(await store.tenants(), [])
      await store.append('b', 's', [item('a')])
      await store.setValue('a', 'k', 'v')
      await store.version('never', 's')
      assert.deepEqual(await store.tenants(), ['a', 'b'])
    },
  },
  {
    name: 'counts what it holds',
    async run(subject) {
      const store = await subject.open()
      await store.append('A', 's', [item('a'), epoch('e', 'c')])
      await store.fork('A', 's', 't')
      await store.append('B', 's', [item('a')])
      const { tenants, sessions, records, epochs, recordBytes } = await store.stats()
      assert.deepEqual({ tenants, sessions, records, epochs }, { tenants: 2, sessions: 3, records: 5, epochs: 1 })
      const infos = [...(await store.list('A')), ...(await store.list('B'))]
      assert.equal(
        recordBytes,
        infos.reduce((sum, info) => sum + info.bytes, 0),
      )
      assert.deepEqual(await store.check(), [])
    },
  },
]

export const leaseCases: readonly StoreCase[] = [
  {
    name: 'grants a lease to one holder, renews it, and gives it on when it is released',
    async run(subject) {
      const clock = manualClock()
      const store = await subject.open({ clock })
      assert.equal(await store.lease('T', 'summary', 'p1', 1000), true)
      assert.equal(await store.lease('T', 'summary', 'p2', 1000), false)
      assert.equal(await store.lease('T', 'summary', 'p1', 1000), true)
      assert.equal(await store.lease('T', 'other', 'p2', 1000), true)
      assert.equal(await store.lease('U', 'summary', 'p2', 1000), true)
      await store.releaseLease('T', 'summary', 'p2')
      assert.equal(await store.lease('T', 'summary', 'p2', 1000), false, 'only the holder can release')
      await store.releaseLease('T', 'summary', 'p1')
      assert.equal(await store.lease('T', 'summary', 'p2', 1000), true)
    },
  },
  {
    name: 'lets a lease run out, so that a dead holder blocks nobody',
    async run(subject) {
      const clock = manualClock()
      const store = await subject.open({ clock })
      assert.equal(await store.lease('T', 'summary', 'dead', 1000), true)
      clock.advance(999)
      assert.equal(await store.lease('T', 'summary', 'p2', 1000), false)
      clock.advance(1)
      assert.equal(await store.lease('T', 'summary', 'p2', 1000), true)
      assert.equal(await store.lease('T', 'summary', 'dead', 1000), false)
      await store.releaseLease('T', 'summary', 'dead')
      assert.equal(await store.lease('T', 'summary', 'p3', 1000), false, 'the late holder cannot release what it lost')
    },
  },
  {
    name: 'grants a lease to exactly one of many that ask at once',
    async run(subject) {
      const store = await subject.open()
      const granted = await Promise.all(Array.from({ length: 16 }, (_, i) => store.lease('T', 'work', `p${i}`, 60_000)))
      assert.equal(granted.filter(Boolean).length, 1)
    },
  },
  {
    name: 'keeps values, and agrees on the first when asked to',
    async run(subject) {
      const store = await subject.open()
      assert.equal(await store.getValue('T', 'k'), undefined)
      assert.equal(await store.setValue('T', 'k', 'one'), 'one')
      assert.equal(await store.setValue('T', 'k', 'two'), 'two')
      assert.equal(await store.setValue('T', 'k', 'three', true), 'two')
      assert.equal(await store.getValue('T', 'k'), 'two')
      assert.equal(await store.getValue('U', 'k'), undefined)
      const secrets = await Promise.all(
        Array.from({ length: 8 }, (_, i) => store.setValue('', 'secret', `s${i}`, true)),
      )
      assert.equal(new Set(secrets).size, 1)
    },
  },
  {
    name: 'takes the values of a session along when it goes, and no others',
    async run(subject) {
      const store = await subject.open()
      for (const session of ['old', 'other', 'pruned']) await store.append('T', session, [item(session, session)])
      await store.append('U', 'old', [item('old', 'old')])
      await store.setValue('T', 'of old', 'v', false, { session: 'old' })
      await store.setValue('T', 'of pruned', 'v', false, { session: 'pruned' })
      await store.setValue('T', 'of other', 'v', false, { session: 'other' })
      await store.setValue('U', 'of old', 'v', false, { session: 'old' })
      await store.setValue('T', 'of nobody', 'v')
      await store.setValue('T', 'moved', 'v', false, { session: 'old' })
      await store.setValue('T', 'moved', 'w', false, { session: 'other' })
      assert.equal(await store.getValue('T', 'of old'), 'v')
      await store.remove('T', 'old')
      assert.equal(await store.getValue('T', 'of old'), undefined)
      assert.equal(await store.getValue('T', 'moved'), 'w')
      await store.remove('T', 'other')
      assert.deepEqual(await store.prune('T', Number.MAX_SAFE_INTEGER), ['pruned'])
      for (const key of ['of pruned', 'of other', 'moved']) assert.equal(await store.getValue('T', key), undefined)
      assert.equal(await store.getValue('T', 'of nobody'), 'v')
      assert.equal(await store.getValue('U', 'of old'), 'v')
    },
  },
]
