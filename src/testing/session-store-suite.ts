import assert from 'node:assert/strict'
import { durableCases, logCases, lookupCases } from './session-store/log-cases.ts'
import {
  edit,
  epoch,
  item,
  manualClock,
  readAll,
  type StoreCase,
  type StoreCases,
  undo,
} from './session-store/records.ts'

export { manualClock } from './session-store/records.ts'
export type { StoreCase, StoreSubject } from './session-store/records.ts'

const tenantCases: StoreCases = {
  async 'keeps tenants apart, identical content and names included'(store) {
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
  async 'does not let one tenant shift the search results of another'(store) {
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
  async 'lists its tenants'(store) {
    assert.deepEqual(await store.tenants(), [])
    await store.append('b', 's', [item('a')])
    await store.setValue('a', 'k', 'v')
    await store.version('never', 's')
    assert.deepEqual(await store.tenants(), ['a', 'b'])
  },
  async 'counts what it holds'(store) {
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
}

const leaseCases: StoreCases = {
  async 'grants a lease to one holder, renews it, and gives it on when it is released'(store) {
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
  async 'lets a lease run out, so that a holder that died blocks no other'(store, clock) {
    assert.equal(await store.lease('T', 'summary', 'dead', 1000), true)
    clock.advance(999)
    assert.equal(await store.lease('T', 'summary', 'p2', 1000), false)
    clock.advance(1)
    assert.equal(await store.lease('T', 'summary', 'p2', 1000), true)
    assert.equal(await store.lease('T', 'summary', 'dead', 1000), false)
    await store.releaseLease('T', 'summary', 'dead')
    assert.equal(await store.lease('T', 'summary', 'p3', 1000), false, 'the late holder cannot release what it lost')
  },
  async 'grants a lease to exactly one of many that ask at once'(store) {
    const granted = await Promise.all(Array.from({ length: 16 }, (_, i) => store.lease('T', 'work', `p${i}`, 60_000)))
    assert.equal(granted.filter(Boolean).length, 1)
  },
  async 'keeps values, and agrees on the first when asked to'(store) {
    assert.equal(await store.getValue('T', 'k'), undefined)
    assert.equal(await store.setValue('T', 'k', 'one'), 'one')
    assert.equal(await store.setValue('T', 'k', 'two'), 'two')
    assert.equal(await store.setValue('T', 'k', 'three', true), 'two')
    assert.equal(await store.getValue('T', 'k'), 'two')
    assert.equal(await store.getValue('U', 'k'), undefined)
    const secrets = await Promise.all(Array.from({ length: 8 }, (_, i) => store.setValue('', 'secret', `s${i}`, true)))
    assert.equal(new Set(secrets).size, 1)
  },
  async 'takes the values of a session along when it goes, and no others'(store) {
    for (const session of ['old', 'other', 'pruned']) await store.append('T', session, [item(session, session)])
    await store.append('U', 'old', [item('old', 'old')])
    await store.setValue('T', 'of old', 'v', false, { session: 'old' })
    await store.setValue('T', 'of pruned', 'v', false, { session: 'pruned' })
    await store.setValue('T', 'of other', 'v', false, { session: 'other' })
    await store.setValue('U', 'of old', 'v', false, { session: 'old' })
    await store.setValue('T', 'without a session', 'v')
    await store.setValue('T', 'moved', 'v', false, { session: 'old' })
    await store.setValue('T', 'moved', 'w', false, { session: 'other' })
    assert.equal(await store.getValue('T', 'of old'), 'v')
    await store.remove('T', 'old')
    assert.equal(await store.getValue('T', 'of old'), undefined)
    assert.equal(await store.getValue('T', 'moved'), 'w')
    await store.remove('T', 'other')
    assert.deepEqual(await store.prune('T', Number.MAX_SAFE_INTEGER), ['pruned'])
    for (const key of ['of pruned', 'of other', 'moved']) assert.equal(await store.getValue('T', key), undefined)
    assert.equal(await store.getValue('T', 'without a session'), 'v')
    assert.equal(await store.getValue('U', 'of old'), 'v')
  },
}

const T = 'tenant'

const searchCases: StoreCases = {
  async 'finds archived text by its words, whatever their case and order'(store) {
    await store.append(T, 's', [
      item('a', 'The deploy of billing-service FAILED with ECONNREFUSED'),
      item('b', 'All green'),
    ])
    const hits = await store.search(T, 'econnrefused billing')
    assert.deepEqual(
      hits.map(({ session, version }) => ({ session, version })),
      [{ session: 's', version: 1 }],
    )
    assert.match(hits[0]?.excerpt ?? '', /billing-service FAILED/)
    await store.append(T, 's', [item('c', `${'All green. '.repeat(500)}Only die Übergabe failed.`)])
    assert.deepEqual(
      (await store.search(T, 'übergabe')).map(({ version }) => version),
      [3],
      'also at the end of a long text',
    )
    assert.deepEqual(await store.search(T, 'nowhere'), [])
    assert.deepEqual(
      await store.search(T, ' .,;"*() AND -'),
      [],
      'a query without a known word finds nothing and is no syntax error',
    )
  },
  async 'puts records with more of the asked words first, newer ones before older'(store) {
    await store.append(T, 's', [
      item('a', 'database timeout on shard seven', 10),
      item('b', 'timeout again today', 20),
      item('c', 'timeout once more', 30),
      item('d', 'nothing of it', 40),
    ])
    const order = async (query: string, limit = 10) =>
      (await store.search(T, query, { limit })).map(({ version }) => version)
    assert.deepEqual(await order('database timeout'), [1, 3, 2])
    assert.deepEqual(await order('timeout'), [3, 2, 1])
    assert.deepEqual(await order('timeout', 1), [3])
  },
  async 'ranks by how rare a word is and how much of a passage it is, not by how long a text is'(store) {
    const prose = 'The team spoke about plans, tickets and the weather of the week. '
    await store.append(T, 's', [
      item('a', `${prose.repeat(40)} When does a sprint end? It depends on the team.`, 10),
      item('b', 'The first sprint ends on March 29.', 20),
      item('c', `${prose.repeat(40)} A team ends its week with a review.`, 30),
      ...Array.from({ length: 30 }, (_, i) => item(`d${i}`, `On day ${i} the first build ends with errors.`, 40 + i)),
    ])
    assert.equal((await store.search(T, 'When does my first sprint end?'))[0]?.version, 2)
    assert.equal((await store.search(T, 'sprinting'))[0]?.version, 2, 'by its stem')
  },
  async 'finds names of code by their parts and whole, in strings in quotes, and by tool and role'(store) {
    await store.append(T, 's', [
      { ...item('a', 'function readSessionFile() fails'), kind: 'user', role: 'user' },
      { ...item('b', 'read_session_file: no such file'), kind: 'result', role: 'tool', toolName: 'Bash' },
      { ...item('c', 'the session has a file to read'), kind: 'user', role: 'user' },
    ])
    const versions = async (query: string) => (await store.search(T, query)).map(({ version }) => version)
    assert.deepEqual(
      (await versions('readSessionFile')).slice(0, 2).sort((a, b) => a - b),
      [1, 2],
    )
    assert.deepEqual(await versions('"has a file"'), [3])
    assert.deepEqual(await versions('session tool:bash'), [2])
    assert.deepEqual(
      (await versions('session role:user')).sort((a, b) => a - b),
      [1, 3],
    )
  },
  async 'finds words of any script'(store) {
    await store.append(T, 's', [
      item('a', '数据库连接失败,请重试'),
      item('b', 'Größe überschritten'),
      item('c', 'ошибка соединения'),
      item('d', 'path src/core/records.ts line 42'),
    ])
    const first = async (query: string) => (await store.search(T, query))[0]?.version
    assert.equal(await first('连接失败'), 1)
    assert.equal(await first('库'), 1)
    assert.equal(await first('größe'), 2)
    assert.equal(await first('ОШИБКА'), 3)
    assert.equal(await first('records.ts 42'), 4)
  },
  async 'searches one session when asked to'(store) {
    await store.append(T, 's1', [item('a', 'needle')])
    await store.append(T, 's2', [item('b', 'needle')])
    assert.equal((await store.search(T, 'needle')).length, 2)
    assert.deepEqual(
      (await store.search(T, 'needle', { session: 's2' })).map(({ session }) => session),
      ['s2'],
    )
    assert.deepEqual(await store.search(T, 'needle', { session: 'none' }), [])
  },
  async 'searches what was said, not what the engine wrote about it'(store) {
    await store.append(T, 's', [epoch('e', 'c', 'a summary with zebra in it')])
    assert.deepEqual(await store.search(T, 'zebra'), [])
  },
  async 'takes a megabyte of noise and still finds the word at its end'(store) {
    const noise = Array.from({ length: 100_000 }, (_, i) => (i * 2_654_435_761).toString(36)).join(' ')
    await store.append(T, 's', [item('a', `${noise} lighthouse`), item('b', 'x'.repeat(1_000_000))])
    assert.equal((await store.search(T, 'lighthouse'))[0]?.version, 1)
  },
}

const ALWAYS = { ...logCases, ...lookupCases, ...searchCases, ...tenantCases, ...leaseCases }

/**
 * The contract of `SessionStore` as cases for any test runner. Give each case a subject of its own:
 *
 *     for (const { name, run } of sessionStoreCases()) it(name, async () => run(await makeSubject()))
 *
 * `durable: false` leaves out the cases that need data to outlive a handle.
 */
export function sessionStoreCases({ durable = true }: { durable?: boolean } = {}): readonly StoreCase[] {
  return Object.entries(durable ? { ...ALWAYS, ...durableCases } : ALWAYS).map(([name, body]) => ({
    name,
    async run(subject) {
      const clock = manualClock(1000)
      await body(await subject.open({ clock }), clock, subject)
    },
  }))
}
