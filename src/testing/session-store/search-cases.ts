import assert from 'node:assert/strict'
import { epoch, item } from './records.ts'
import type { StoreCase } from './subject.ts'

const T = 'tenant'

export const searchCases: readonly StoreCase[] = [
  {
    name: 'finds archived text by its words, whatever their case and order',
    async run(subject) {
      const store = await subject.open()
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
  },
  {
    name: 'puts records with more of the asked words first, newer ones before older',
    async run(subject) {
      const store = await subject.open()
      await store.append(T, 's', [
        item('a', 'database timeout on shard seven', 10),
        item('b', 'timeout again', 20),
        item('c', 'timeout once more', 30),
        item('d', 'nothing of it', 40),
      ])
      const order = async (query: string, limit = 10) =>
        (await store.search(T, query, { limit })).map(({ version }) => version)
      assert.deepEqual(await order('database timeout'), [1, 3, 2])
      assert.deepEqual(await order('timeout'), [3, 2, 1])
      assert.deepEqual(await order('timeout', 1), [3])
    },
  },
  {
    name: 'finds words of any script',
    async run(subject) {
      const store = await subject.open()
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
  },
  {
    name: 'searches one session when asked to',
    async run(subject) {
      const store = await subject.open()
      await store.append(T, 's1', [item('a', 'needle')])
      await store.append(T, 's2', [item('b', 'needle')])
      assert.equal((await store.search(T, 'needle')).length, 2)
      assert.deepEqual(
        (await store.search(T, 'needle', { session: 's2' })).map(({ session }) => session),
        ['s2'],
      )
      assert.deepEqual(await store.search(T, 'needle', { session: 'none' }), [])
    },
  },
  {
    name: 'searches what was said, not what the engine wrote about it',
    async run(subject) {
      const store = await subject.open()
      await store.append(T, 's', [epoch('e', 'c', 'a summary with zebra in it')])
      assert.deepEqual(await store.search(T, 'zebra'), [])
    },
  },
  {
    name: 'takes a megabyte of noise and still finds the word at its end',
    async run(subject) {
      const store = await subject.open()
      const noise = Array.from({ length: 100_000 }, (_, i) => (i * 2_654_435_761).toString(36)).join(' ')
      await store.append(T, 's', [item('a', `${noise} lighthouse`), item('b', 'x'.repeat(1_000_000))])
      assert.equal((await store.search(T, 'lighthouse'))[0]?.version, 1)
    },
  },
]
