import assert from 'node:assert/strict'
import type { FoundEpoch } from '../../ports/session-store.ts'
import { edit, epoch, item, readAll, undo } from './records.ts'
import type { StoreCase } from './subject.ts'

const T = 'tenant'
const ids = (found: readonly FoundEpoch[]): string[] => found.map(({ epoch: { id } }) => id)

export const lookupCases: readonly StoreCase[] = [
  {
    name: 'finds epochs of any session by the chain hashes they cover',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c1'))
      await store.claimEpoch(T, 's2', epoch('e2', 'c2'))
      const hashes = ['c0', 'c1', 'c2', 'c3', ...Array.from({ length: 2000 }, (_, i) => `x${i}`)]
      const found = await store.findEpochs(T, hashes)
      assert.deepEqual(found, [
        { session: 's1', epoch: epoch('e1', 'c1'), undoneIn: [] },
        { session: 's2', epoch: epoch('e2', 'c2'), undoneIn: [] },
      ])
      assert.deepEqual(await store.findEpochs(T, hashes), found, 'the second look gives the same')
      assert.deepEqual(await store.findEpochs(T, []), [])
      assert.deepEqual(await store.findEpochs(T, ['c9']), [])
    },
  },
  {
    name: 'lets the first claim on a chain hash win, and hands the winner to the loser',
    async run(subject) {
      const store = await subject.open()
      const first = await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      const second = await store.claimEpoch(T, 's2', epoch('e2', 'c'))
      assert.equal(first.epoch.id, 'e1')
      assert.deepEqual(second, { session: 's1', epoch: epoch('e1', 'c'), undoneIn: [] })
      assert.deepEqual(ids(await store.findEpochs(T, ['c'])), ['e1'])
      assert.deepEqual(
        (await readAll(store, T, 's2')).map(({ record }) => record),
        [epoch('e1', 'c')],
      )
    },
  },
  {
    name: 'lets an epoch go beyond another on the same chain hash, once',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      await store.claimEpoch(T, 's2', epoch('e1', 'c'))
      const deeper = { ...epoch('e2', 'c'), replaces: 'e1' }
      assert.equal((await store.claimEpoch(T, 's1', deeper)).epoch.id, 'e2')
      const late = await store.claimEpoch(T, 's2', { ...epoch('e3', 'c'), replaces: 'e1' })
      assert.deepEqual(late.epoch, deeper)
      assert.deepEqual(ids(await store.findEpochs(T, ['c'])).sort(), ['e1', 'e2'])
    },
  },
  {
    name: 'lets epochs go beyond one another again and again, also when an older one was copied since',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      await store.claimEpoch(T, 's1', { ...epoch('e2', 'c'), replaces: 'e1' })
      await store.append(T, 's2', [epoch('e1', 'c')])
      const third = { ...epoch('e3', 'c'), replaces: 'e2' }
      assert.deepEqual((await store.claimEpoch(T, 's1', third)).epoch, third)
      assert.deepEqual((await store.claimEpoch(T, 's2', { ...epoch('e4', 'c'), replaces: 'e2' })).epoch, third)
      assert.deepEqual((await store.claimEpoch(T, 's2', { ...epoch('e4', 'c'), replaces: 'e1' })).epoch.id, 'e2')
    },
  },
  {
    name: 'makes a repeated claim a no-op',
    async run(subject) {
      const store = await subject.open()
      for (let i = 0; i < 3; i++) {
        assert.equal((await store.claimEpoch(T, 's1', epoch('e1', 'c'))).epoch.id, 'e1')
        assert.equal((await store.claimEpoch(T, 's2', epoch('e2', 'c'))).epoch.id, 'e1')
      }
      assert.equal(await store.version(T, 's1'), 1)
      assert.equal(await store.version(T, 's2'), 1)
    },
  },
  {
    name: 'agrees on one winner among many claims at once',
    async run(subject) {
      const store = await subject.open()
      const claims = await Promise.all(
        Array.from({ length: 16 }, (_, i) => store.claimEpoch(T, `s${i}`, epoch(`e${i}`, 'c'))),
      )
      assert.equal(new Set(ids(claims)).size, 1)
      const found = await store.findEpochs(T, ['c'])
      assert.deepEqual(ids(found), [claims[0]?.epoch.id])
    },
  },
  {
    name: 'keeps an epoch for the adopter when its first session is removed',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      await store.claimEpoch(T, 's2', epoch('e2', 'c'))
      await store.remove(T, 's1')
      assert.deepEqual(await store.findEpochs(T, ['c']), [{ session: 's2', epoch: epoch('e1', 'c'), undoneIn: [] }])
    },
  },
  {
    name: 'says in which sessions an epoch was undone',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      await store.claimEpoch(T, 's2', epoch('e2', 'c'))
      await store.append(T, 's2', [undo('e1')])
      assert.deepEqual((await store.findEpochs(T, ['c']))[0]?.undoneIn, ['s2'])
      const again = await store.claimEpoch(T, 's2', epoch('e3', 'c'))
      assert.deepEqual({ id: again.epoch.id, undoneIn: again.undoneIn }, { id: 'e1', undoneIn: ['s2'] })
    },
  },
  {
    name: 'lets a new epoch succeed one that was undone everywhere, under another id only',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      await store.claimEpoch(T, 's2', epoch('e2', 'c'))
      await store.append(T, 's1', [undo('e1')])
      assert.equal((await store.claimEpoch(T, 's1', epoch('e4', 'c'))).epoch.id, 'e1', 's2 still holds it')
      await store.append(T, 's2', [undo('e1')])
      assert.equal((await store.claimEpoch(T, 's1', epoch('e1', 'c'))).epoch.id, 'e1')
      const next = await store.claimEpoch(T, 's1', epoch('e4', 'c'))
      assert.deepEqual(
        { id: next.epoch.id, session: next.session, undoneIn: next.undoneIn },
        { id: 'e4', session: 's1', undoneIn: [] },
      )
      assert.deepEqual(ids(await store.findEpochs(T, ['c'])), ['e1', 'e4'])
      assert.equal((await store.claimEpoch(T, 's3', epoch('e5', 'c'))).epoch.id, 'e4')
    },
  },
  {
    name: 'counts a fork as a holder of the epochs in it',
    async run(subject) {
      const store = await subject.open()
      await store.claimEpoch(T, 's1', epoch('e1', 'c'))
      await store.fork(T, 's1', 'f')
      await store.append(T, 's1', [undo('e1')])
      const found = await store.findEpochs(T, ['c'])
      assert.deepEqual(ids(found), ['e1'])
      assert.deepEqual(found[0]?.undoneIn, ['s1'])
      assert.equal((await store.claimEpoch(T, 's1', epoch('e2', 'c'))).epoch.id, 'e1')
    },
  },
  {
    name: 'finds first-send edits by key, the first one of each',
    async run(subject) {
      const store = await subject.open()
      const odd = `call\0${'x'.repeat(500)}\ud800`
      await store.append(T, 's1', [edit('k1', 'first'), edit(odd, 'odd key')])
      await store.append(T, 's2', [edit('k1', 'second'), edit('k2', 'other')])
      assert.deepEqual(await store.findEdits(T, ['k2', 'k1', 'k3', 'k1']), [edit('k2', 'other'), edit('k1', 'first')])
      assert.deepEqual(await store.findEdits(T, [odd]), [edit(odd, 'odd key')])
      assert.deepEqual(await store.findEdits(T, [odd.replace('\ud800', '\ud801')]), [])
      await store.remove(T, 's1')
      assert.deepEqual(await store.findEdits(T, ['k1']), [edit('k1', 'second')])
    },
  },
  {
    name: 'knows which identities it holds, in the tenant and in one session',
    async run(subject) {
      const store = await subject.open()
      await store.append(T, 's1', [item('a'), item('b')])
      await store.append(T, 's2', [item('b'), item('c')])
      assert.deepEqual(await store.seen(T, ['a', 'b', 'c', 'd']), new Set(['a', 'b', 'c']))
      assert.deepEqual(await store.seen(T, ['a', 'b', 'c', 'd'], { session: 's2' }), new Set(['b', 'c']))
      assert.deepEqual(await store.seen(T, ['a'], { session: 'none' }), new Set())
      assert.deepEqual(await store.seen(T, []), new Set())
    },
  },
  {
    name: 'agrees on one winner across handles',
    durable: true,
    async run(subject) {
      const handles = await Promise.all([subject.open(), subject.open(), subject.open()])
      for (let round = 0; round < 10; round++) {
        const claims = await Promise.all(
          handles.map((store, i) => store.claimEpoch(T, `s${i}`, epoch(`e${round}-${i}`, `c${round}`))),
        )
        assert.equal(new Set(ids(claims)).size, 1)
      }
    },
  },
  {
    name: 'shows an undo by one handle to another that looked before',
    durable: true,
    async run(subject) {
      const [a, b] = [await subject.open(), await subject.open()]
      await a.claimEpoch(T, 's', epoch('e1', 'c'))
      assert.deepEqual((await b.findEpochs(T, ['c']))[0]?.undoneIn, [])
      await a.append(T, 's', [undo('e1')])
      assert.deepEqual((await b.findEpochs(T, ['c']))[0]?.undoneIn, ['s'])
      await a.remove(T, 's')
      assert.deepEqual(await b.findEpochs(T, ['c']), [])
    },
  },
]
