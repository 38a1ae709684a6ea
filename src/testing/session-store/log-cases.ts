import assert from 'node:assert/strict'
import { isPlimsollError } from '../../core/errors.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'
import { audit, edit, epoch, item, numbered, readAll, type StoreCases, undo } from './records.ts'

const T = 'tenant'
const isRefused = (error: unknown): boolean => isPlimsollError(error, 'bad-input')

export const logCases: StoreCases = {
  async 'gives records back as they were, in order, numbered from 1'(store) {
    const records = [item('a'), epoch('e1', 'c1'), undo('e1'), edit('k1'), audit('why')]
    assert.equal(await store.append(T, 's', records.slice(0, 2)), 2)
    assert.equal(await store.append(T, 's', records.slice(2)), 5)
    assert.deepEqual(await readAll(store, T, 's'), numbered(records))
    assert.deepEqual(await readAll(store, T, 's', 3), numbered(records.slice(3), 4))
    assert.equal(await store.version(T, 's'), 5)
  },
  async 'keeps every character, lone surrogates and NUL included'(store) {
    const texts = ['\ud800 alone', 'a\0b', '\ufeff\u2028\u0085', '👩‍👩‍👧 é é', ' '.repeat(3), '']
    // Short and long texts, because a store may write them differently.
    const records = texts
      .flatMap((text) => [text, `${text}${' and so on'.repeat(1_000)}${text}`, text])
      .map((text, i) => item(`i${i}`, text))
    await store.append(T, 's', records)
    assert.deepEqual(await readAll(store, T, 's'), numbered(records))
  },
  async 'has nothing to say about a session that was never written'(store) {
    assert.equal(await store.version(T, 'none'), 0)
    assert.deepEqual(await readAll(store, T, 'none'), [])
    assert.equal(await store.remove(T, 'none'), false)
    assert.equal(await store.append(T, 'none', []), 0)
    assert.deepEqual(await store.list(T), [])
  },
  async 'reads a log longer than one page'(store) {
    const records = Array.from({ length: 700 }, (_, i) => item(`i${i}`))
    await store.append(T, 's', records)
    assert.deepEqual(await readAll(store, T, 's'), numbered(records))
  },
  async 'rejects an append that expected another version, and writes nothing of it'(store) {
    await store.append(T, 's', [item('a')], 0)
    await assert.rejects(store.append(T, 's', [item('b'), item('c')], 0), (error) => {
      assert.ok(isPlimsollError(error, 'conflict'))
      assert.deepEqual(
        { expected: error.fields['expected'], actual: error.fields['actual'] },
        { expected: 0, actual: 1 },
      )
      return true
    })
    await assert.rejects(store.append(T, 's', [item('b')], 7), (error) => isPlimsollError(error, 'conflict'))
    await assert.rejects(store.append(T, 'new', [item('b')], 3), (error) => isPlimsollError(error, 'conflict'))
    assert.equal(await store.append(T, 's', [item('b')], 1), 2)
    assert.equal((await readAll(store, T, 's')).length, 2)
    assert.equal(await store.version(T, 'new'), 0)
    assert.deepEqual(await store.seen(T, ['c']), new Set())
  },
  async 'lets exactly one of many appends with one expected version through'(store) {
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) => store.append(T, 's', [item(`i${i}`)], 0)),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const result of results)
      if (result.status === 'rejected') assert.ok(isPlimsollError(result.reason, 'conflict'))
    assert.equal(await store.version(T, 's'), 1)
  },
  async 'orders parallel appends without gaps and without mixing their batches'(store) {
    const batches = Array.from({ length: 20 }, (_, i) => [item(`${i}-0`), item(`${i}-1`), item(`${i}-2`)])
    const versions = await Promise.all(batches.map((batch) => store.append(T, 's', batch)))
    const records = await readAll(store, T, 's')
    assert.deepEqual(
      records.map(({ version }) => version),
      Array.from({ length: 60 }, (_, i) => i + 1),
    )
    versions.forEach((version, i) =>
      assert.deepEqual(
        records.slice(version - 3, version).map(({ record }) => record),
        batches[i],
      ),
    )
  },
  async 'lists sessions by name, page by page, with their numbers'(store, clock) {
    for (const name of ['b', 'a', 'ü', 'C', '😀', '\uffee']) await store.append(T, name, [item(name)])
    clock.advance(10)
    await store.append(T, 'a', [item('more')])
    const all = await store.list(T)
    assert.deepEqual(
      all.map(({ session }) => session),
      ['C', 'a', 'b', 'ü', '\uffee', '😀'],
    )
    const a = all.find(({ session }) => session === 'a')
    assert.deepEqual(
      { version: a?.version, createdAt: a?.createdAt, updatedAt: a?.updatedAt },
      { version: 2, createdAt: 1000, updatedAt: 1010 },
    )
    assert.ok(a !== undefined && a.bytes > 100)
    const page = await store.list(T, { limit: 2, after: 'a' })
    assert.deepEqual(
      page.map(({ session }) => session),
      ['b', 'ü'],
    )
  },
  async 'gives what is imported the dates that it comes with'(store) {
    await store.append(T, 'old', [item('first')], 0, { at: 1000 })
    await store.append(T, 'old', [item('second')], 1, { at: 2000 })
    const [old] = await store.list(T)
    assert.deepEqual([old?.createdAt, old?.updatedAt], [1000, 2000])
  },
  async 'forks a log up to a version, and both go on alone'(store) {
    const records = [item('a', 'alpha text'), edit('k'), epoch('e', 'c'), item('b', 'beta text')]
    await store.append(T, 'from', records)
    assert.equal(await store.fork(T, 'from', 'to', 3), 3)
    await store.append(T, 'to', [undo('e')])
    assert.deepEqual(await readAll(store, T, 'from'), numbered(records))
    assert.deepEqual(await readAll(store, T, 'to'), numbered([...records.slice(0, 3), undo('e')]))
    assert.deepEqual(await store.seen(T, ['a', 'b'], { session: 'to' }), new Set(['a']))
    assert.equal((await store.search(T, 'alpha', { session: 'to' })).length, 1)
    assert.equal((await store.search(T, 'beta', { session: 'to' })).length, 0)
    assert.equal(await store.fork(T, 'from', 'whole'), 4)
    const [from, whole] = await Promise.all(
      ['from', 'whole'].map(async (name) => (await store.list(T)).find((info) => info.session === name)),
    )
    assert.equal(from?.bytes, whole?.bytes)
  },
  async 'refuses forks that make no sense'(store) {
    await store.append(T, 's', [item('a')])
    await store.append(T, 'taken', [item('a')])
    await assert.rejects(store.fork(T, 'none', 'new'), (error) => isPlimsollError(error, 'not-found'))
    await assert.rejects(store.fork(T, 's', 'taken'), (error) => isPlimsollError(error, 'conflict'))
    await assert.rejects(store.fork(T, 's', 'new', 2), (error) => isPlimsollError(error, 'bad-input'))
    assert.equal(await store.version(T, 'new'), 0)
  },
  async 'refuses names that a database would change'(store) {
    for (const name of ['', 'a\0b', '\ud800', 'x'.repeat(2000)]) {
      await assert.rejects(store.append(T, name, [item('a')]), isRefused)
      await assert.rejects(store.version(T, name), isRefused)
      await assert.rejects(readAll(store, T, name), isRefused)
      await assert.rejects(store.fork(T, 's', name), isRefused)
      if (name === '') continue
      await assert.rejects(store.append(name, 's', [item('a')]), isRefused)
      await assert.rejects(store.findEpochs(name, ['c']), isRefused)
      await assert.rejects(store.search(name, 'text'), isRefused)
      await assert.rejects(store.getValue(T, name), isRefused)
      await assert.rejects(store.lease(T, name, 'p', 1), isRefused)
    }
    for (const name of ['../../etc/passwd', '..\\x', '%2e%2e/', "'; DROP TABLE records; --", '‥/']) {
      await store.append(T, name, [item('a')])
      assert.equal(await store.version(T, name), 1)
    }
  },
  async 'removes a session with everything derived from it, and nothing else'(store) {
    const records = [item('a', 'unmistakable walrus'), epoch('e', 'c'), edit('k')]
    await store.append(T, 'gone', records)
    await store.append(T, 'kept', [item('b', 'another walrus')])
    assert.equal(await store.remove(T, 'gone'), true)
    assert.equal(await store.remove(T, 'gone'), false)
    assert.deepEqual(await readAll(store, T, 'gone'), [])
    assert.deepEqual(await store.findEpochs(T, ['c']), [])
    assert.deepEqual(await store.findEdits(T, ['k']), [])
    assert.deepEqual(await store.seen(T, ['a', 'b']), new Set(['b']))
    assert.deepEqual(
      (await store.search(T, 'walrus')).map(({ session }) => session),
      ['kept'],
    )
    assert.equal(await store.append(T, 'gone', [item('new')]), 1)
    assert.deepEqual(await store.check(), [])
  },
  async 'prunes sessions that were not updated since a moment'(store, clock) {
    await store.append(T, 'old', [item('a', 'ancient text')])
    await store.append(T, 'older', [item('b')])
    clock.advance(1000)
    await store.append(T, 'new', [item('c')])
    await store.append('other', 'old', [item('a')])
    assert.deepEqual(await store.prune(T, 2000), ['old', 'older'])
    assert.deepEqual(await store.prune(T, 2000), [])
    assert.deepEqual(
      (await store.list(T)).map(({ session }) => session),
      ['new'],
    )
    assert.deepEqual(await store.search(T, 'ancient'), [])
    assert.deepEqual(await store.check(), [])
  },
}

const ids = (found: readonly FoundEpoch[]): string[] => found.map(({ epoch: { id } }) => id)

export const lookupCases: StoreCases = {
  async 'finds epochs of any session by the chain hashes they cover'(store) {
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
  async 'lets the first claim on a chain hash win, and hands the winner to the loser'(store) {
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
  async 'lets an epoch go beyond another on the same chain hash, once'(store) {
    await store.claimEpoch(T, 's1', epoch('e1', 'c'))
    await store.claimEpoch(T, 's2', epoch('e1', 'c'))
    const deeper = { ...epoch('e2', 'c'), replaces: 'e1' }
    assert.equal((await store.claimEpoch(T, 's1', deeper)).epoch.id, 'e2')
    const late = await store.claimEpoch(T, 's2', { ...epoch('e3', 'c'), replaces: 'e1' })
    assert.deepEqual(late.epoch, deeper)
    assert.deepEqual(ids(await store.findEpochs(T, ['c'])).sort(), ['e1', 'e2'])
  },
  async 'lets epochs go beyond one another again and again, also when an older one was copied since'(store) {
    await store.claimEpoch(T, 's1', epoch('e1', 'c'))
    await store.claimEpoch(T, 's1', { ...epoch('e2', 'c'), replaces: 'e1' })
    await store.append(T, 's2', [epoch('e1', 'c')])
    const third = { ...epoch('e3', 'c'), replaces: 'e2' }
    assert.deepEqual((await store.claimEpoch(T, 's1', third)).epoch, third)
    assert.deepEqual((await store.claimEpoch(T, 's2', { ...epoch('e4', 'c'), replaces: 'e2' })).epoch, third)
    assert.deepEqual((await store.claimEpoch(T, 's2', { ...epoch('e4', 'c'), replaces: 'e1' })).epoch.id, 'e2')
  },
  async 'makes a repeated claim a no-op'(store) {
    for (let i = 0; i < 3; i++) {
      assert.equal((await store.claimEpoch(T, 's1', epoch('e1', 'c'))).epoch.id, 'e1')
      assert.equal((await store.claimEpoch(T, 's2', epoch('e2', 'c'))).epoch.id, 'e1')
    }
    assert.equal(await store.version(T, 's1'), 1)
    assert.equal(await store.version(T, 's2'), 1)
  },
  async 'agrees on one winner among many claims at once'(store) {
    const claims = await Promise.all(
      Array.from({ length: 16 }, (_, i) => store.claimEpoch(T, `s${i}`, epoch(`e${i}`, 'c'))),
    )
    assert.equal(new Set(ids(claims)).size, 1)
    const found = await store.findEpochs(T, ['c'])
    assert.deepEqual(ids(found), [claims[0]?.epoch.id])
  },
  async 'keeps an epoch for the adopter when its first session is removed'(store) {
    await store.claimEpoch(T, 's1', epoch('e1', 'c'))
    await store.claimEpoch(T, 's2', epoch('e2', 'c'))
    await store.remove(T, 's1')
    assert.deepEqual(await store.findEpochs(T, ['c']), [{ session: 's2', epoch: epoch('e1', 'c'), undoneIn: [] }])
  },
  async 'says in which sessions an epoch was undone'(store) {
    await store.claimEpoch(T, 's1', epoch('e1', 'c'))
    await store.claimEpoch(T, 's2', epoch('e2', 'c'))
    await store.append(T, 's2', [undo('e1')])
    assert.deepEqual((await store.findEpochs(T, ['c']))[0]?.undoneIn, ['s2'])
    const again = await store.claimEpoch(T, 's2', epoch('e3', 'c'))
    assert.deepEqual({ id: again.epoch.id, undoneIn: again.undoneIn }, { id: 'e1', undoneIn: ['s2'] })
  },
  async 'lets a new epoch succeed one that was undone everywhere, under another id only'(store) {
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
  async 'counts a fork as a holder of the epochs in it'(store) {
    await store.claimEpoch(T, 's1', epoch('e1', 'c'))
    await store.fork(T, 's1', 'f')
    await store.append(T, 's1', [undo('e1')])
    const found = await store.findEpochs(T, ['c'])
    assert.deepEqual(ids(found), ['e1'])
    assert.deepEqual(found[0]?.undoneIn, ['s1'])
    assert.equal((await store.claimEpoch(T, 's1', epoch('e2', 'c'))).epoch.id, 'e1')
  },
  async 'finds first-send edits by key, the first one of each'(store) {
    const odd = `call\0${'x'.repeat(500)}\ud800`
    await store.append(T, 's1', [edit('k1', 'first'), edit(odd, 'odd key')])
    await store.append(T, 's2', [edit('k1', 'second'), edit('k2', 'other')])
    assert.deepEqual(await store.findEdits(T, ['k2', 'k1', 'k3', 'k1']), [edit('k2', 'other'), edit('k1', 'first')])
    assert.deepEqual(await store.findEdits(T, [odd]), [edit(odd, 'odd key')])
    assert.deepEqual(await store.findEdits(T, [odd.replace('\ud800', '\ud801')]), [])
    await store.remove(T, 's1')
    assert.deepEqual(await store.findEdits(T, ['k1']), [edit('k1', 'second')])
  },
  async 'knows which identities it holds, in the tenant and in one session'(store) {
    await store.append(T, 's1', [item('a'), item('b')])
    await store.append(T, 's2', [item('b'), item('c')])
    assert.deepEqual(await store.seen(T, ['a', 'b', 'c', 'd']), new Set(['a', 'b', 'c']))
    assert.deepEqual(await store.seen(T, ['a', 'b', 'c', 'd'], { session: 's2' }), new Set(['b', 'c']))
    assert.deepEqual(await store.seen(T, ['a'], { session: 'none' }), new Set())
    assert.deepEqual(await store.seen(T, []), new Set())
  },
}

/** For stores whose data outlives a handle. */
export const durableCases: StoreCases = {
  async 'shows a second handle everything that the first acknowledged'(first, _clock, subject) {
    const second = await subject.open()
    assert.equal(await second.version(T, 's'), 0)
    await first.append(T, 's', [item('a', 'shared words'), edit('k'), epoch('e', 'c')])
    assert.equal(await second.version(T, 's'), 3)
    assert.equal((await readAll(second, T, 's')).length, 3)
    assert.equal((await second.findEpochs(T, ['c']))[0]?.epoch.id, 'e')
    assert.equal((await second.findEdits(T, ['k'])).length, 1)
    assert.equal((await second.search(T, 'shared')).length, 1)
    await second.append(T, 's', [item('b')], 3)
    await assert.rejects(first.append(T, 's', [item('c')], 3), (error) => isPlimsollError(error, 'conflict'))
  },
  async 'has everything after it was closed and opened again'(first, _clock, subject) {
    const records = Array.from({ length: 50 }, (_, i) => item(`i${i}`, `line ${i} of the archive`))
    await first.append(T, 's', records)
    await first.setValue(T, 'window', '200000')
    await first.close()
    await assert.rejects(first.append(T, 's', [item('late')]), (error) => isPlimsollError(error, 'closed'))
    const second = await subject.open()
    assert.deepEqual(await readAll(second, T, 's'), numbered(records))
    assert.equal(await second.getValue(T, 'window'), '200000')
    assert.equal((await second.search(T, 'archive 49')).length > 0, true)
  },
  async 'agrees on one winner across handles'(store, _clock, subject) {
    const handles = [store, await subject.open(), await subject.open()]
    for (let round = 0; round < 10; round++) {
      const claims = await Promise.all(
        handles.map((store, i) => store.claimEpoch(T, `s${i}`, epoch(`e${round}-${i}`, `c${round}`))),
      )
      assert.equal(new Set(ids(claims)).size, 1)
    }
  },
  async 'shows an undo by one handle to another that looked before'(a, _clock, subject) {
    const b = await subject.open()
    await a.claimEpoch(T, 's', epoch('e1', 'c'))
    assert.deepEqual((await b.findEpochs(T, ['c']))[0]?.undoneIn, [])
    await a.append(T, 's', [undo('e1')])
    assert.deepEqual((await b.findEpochs(T, ['c']))[0]?.undoneIn, ['s'])
    await a.remove(T, 's')
    assert.deepEqual(await b.findEpochs(T, ['c']), [])
  },
}
