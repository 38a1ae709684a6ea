import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { edit, epoch, item, readAll } from '../../src/testing/session-store/records.ts'
import { withFolder } from './support/temporary.ts'
import { startWorker } from './support/worker-process.ts'

const T = 'tenant'

function wordsIn(path: string): number {
  const db = openDatabase(path)
  try {
    return Number(db.all('SELECT COUNT(*) AS n FROM words')[0]!['n'])
  } finally {
    db.close()
  }
}

describe('words of the search', () => {
  it('wait until somebody looks for them, and are found by another process then', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const [first, second] = [sqliteStore({ path }), sqliteStore({ path })]
      await first.append(T, 's', [item('a', 'a narwhal'), item('b', 'a walrus')])
      expect(wordsIn(path)).toBe(0)
      expect((await second.search(T, 'narwhal')).map(({ version }) => version)).toEqual([1])
      expect(wordsIn(path)).toBe(2)
      await first.append(T, 's', [item('c', 'another narwhal')])
      expect((await first.search(T, 'narwhal')).map(({ version }) => version)).toEqual([3, 1])
      await first.close()
      await second.close()
    }))

  it('take as many slices as a long log needs, and none for sessions that went before', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      const long = Array.from({ length: 400 }, (_, n) => item(`i${n}`, `number${n} ${'filler words here '.repeat(60)}`))
      await store.append(T, 'gone', [item('x', 'numberless')])
      await store.append(T, 's', long)
      await store.remove(T, 'gone')
      expect(await store.search(T, 'number399')).toHaveLength(1)
      expect(await store.search(T, 'numberless')).toEqual([])
      expect(wordsIn(path)).toBe(400)
      expect(await store.check()).toEqual([])
      await store.close()
    }))
})

describe('a record that stands in the way of the search', () => {
  const changed = (path: string, sql: string): void => {
    const db = openDatabase(path)
    db.exec(sql)
    db.close()
  }

  it('is one whose words an older package has put in already', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      await store.append(T, 's', [item('a', 'a narwhal'), item('b', 'a walrus')])
      changed(path, "INSERT INTO words (rowid, tokens) SELECT id, 'something' FROM records LIMIT 1")
      expect(await store.search(T, 'narwhal')).toHaveLength(1)
      expect(await store.search(T, 'walrus')).toHaveLength(1)
      expect(await store.check()).toEqual([])
      await store.close()
    }))

  it('is one of a newer package, and another tenant finds its own all the same', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      const newer = { ...item('a', 'a narwhal'), v: 999 } as unknown as ReturnType<typeof item>
      await store.append('other', 's', [newer])
      await store.append(T, 's', [item('b', 'a walrus')])
      expect(await store.search(T, 'walrus')).toHaveLength(1)
      await store.close()
    }))
})

describe('what was read before', () => {
  it('belongs to one tenant and key, whatever characters they have', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      await store.setValue('a\nb', 'c', 'secret')
      expect(await store.getValue('a', 'b\nc')).toBeUndefined()
      expect(await store.setValue('a', 'b\nc', 'mine', true)).toBe('mine')
      expect(await store.getValue('a\nb', 'c')).toBe('secret')
      await store.close()
    }))

  it('is read again once another process has written', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const [first, second] = [sqliteStore({ path }), sqliteStore({ path })]
      await first.append(T, 's', [item('a')])
      await first.setValue(T, 'k', 'one')
      expect([await first.version(T, 's'), await first.getValue(T, 'k'), await first.getValue(T, 'none')]).toEqual([
        1,
        'one',
        undefined,
      ])
      await second.append(T, 's', [item('b')])
      await second.setValue(T, 'k', 'two')
      await second.setValue(T, 'none', 'some')
      expect([await first.version(T, 's'), await first.getValue(T, 'k'), await first.getValue(T, 'none')]).toEqual([
        2,
        'two',
        'some',
      ])
      await second.remove(T, 's')
      expect(await first.version(T, 's')).toBe(0)
      await first.close()
      await second.close()
    }))

  it('says of epochs and edits that nobody wrote them until somebody does, here or in another process', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const [first, second] = [sqliteStore({ path }), sqliteStore({ path })]
      const found = async (): Promise<readonly [readonly string[], readonly string[]]> => {
        const epochs = await first.findEpochs(T, ['c1', 'c2'])
        const edits = await first.findEdits(T, ['k1', 'k2'])
        return [epochs.map((one) => one.epoch.id), edits.map(({ key }) => key)]
      }
      await first.append(T, 's', [item('a')])
      expect(await found()).toEqual([[], []])
      await first.append(T, 's', [epoch('e2', 'c2'), edit('k2')])
      expect(await found()).toEqual([['e2'], ['k2']])
      await second.append(T, 'other', [epoch('e1', 'c1'), edit('k1')])
      expect(await found()).toEqual([
        ['e1', 'e2'],
        ['k1', 'k2'],
      ])
      await second.remove(T, 'other')
      expect(await found()).toEqual([['e2'], ['k2']])
      const failed = first.append(T, 's', [epoch('e1', 'c1'), edit('k1')], 77)
      await expect(failed).rejects.toMatchObject({ code: 'conflict' })
      expect(await found()).toEqual([['e2'], ['k2']])
      await first.close()
      await second.close()
    }))

  it('says of a session that it is not there until it is', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      await store.append(T, 's', [item('a'), item('b')])
      expect([await store.version(T, 'forked'), await store.version(T, 'new')]).toEqual([0, 0])
      await store.fork(T, 's', 'forked', 1)
      await store.append(T, 'new', [item('c')])
      expect([await store.version(T, 'forked'), await store.version(T, 'new')]).toEqual([1, 1])
      await store.close()
    }))

  it('is forgotten with a batch that was taken back', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      const outcomes = await Promise.allSettled([
        store.append('new tenant', 's', [item('a')], 7),
        store.append('new tenant', 's', [item('b')]),
        store.append('new tenant', 's', [item('c')], 5),
      ])
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
      expect(await store.version('new tenant', 's')).toBe(1)
      expect(await store.append('new tenant', 's', [item('d')])).toBe(2)
      expect(await store.check()).toEqual([])
      await store.close()
    }))
})

describe('a write that does not wait for the disk', () => {
  it('is there for everybody at once, and for good when the store is closed', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const [first, second] = [sqliteStore({ path }), sqliteStore({ path })]
      expect(await first.append(T, 's', [item('a')], undefined, { durable: 'soon' })).toBe(1)
      expect(await second.version(T, 's')).toBe(1)
      expect(await first.setValue(T, 'k', 'v', true, { durable: 'soon' })).toBe('v')
      expect(await second.setValue(T, 'k', 'other', true)).toBe('v')
      await first.close()
      expect(await second.version(T, 's')).toBe(1)
      await second.close()
    }))

  it('is not taken any more once the store closes, and what came before is written', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db') })
      let isWritten = false
      const written = store.append(T, 's', [item('a')], undefined, { durable: 'soon' }).then(() => (isWritten = true))
      const closing = store.close()
      await expect(store.append(T, 's', [item('b')])).rejects.toMatchObject({ code: 'closed' })
      await store.close()
      expect(isWritten).toBe(true)
      await Promise.all([written, closing])
    }))

  it('survives another process that opens the file and closes it', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      for (let times = 1; times <= 3; times++) {
        for (let n = 0; n < 100; n++)
          await store.append(T, 's', [item(`i${times}.${n}`)], undefined, { durable: 'soon' })
        const { code, errors } = await startWorker(new URL('support/look-worker.ts', import.meta.url), [path]).done
        expect({ code, errors }).toEqual({ code: 0, errors: '' })
      }
      await store.close()
      const again = sqliteStore({ path })
      expect(await readAll(again, T, 's')).toHaveLength(300)
      expect(await again.check()).toEqual([])
      await again.close()
    }))
})

describe('a file that another process has locked', () => {
  it('holds up who writes to it, and nothing else of this process', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      await store.append(T, 's', [item('a')])
      const other = openDatabase(path)
      other.exec('BEGIN IMMEDIATE')
      let isWritten = false
      const written = store.append(T, 's', [item('b')]).then(() => (isWritten = true))
      // Every turn comes: a driver that waits inside would never let this loop get to its end, since the lock is given back behind it.
      for (let turns = 0; turns < 1_000; turns++) await turn()
      expect(isWritten).toBe(false)
      expect(await store.version(T, 's')).toBe(1)
      other.exec('ROLLBACK')
      await written
      expect(await store.version(T, 's')).toBe(2)
      other.close()
      await store.close()
    }))

  it('is opened as soon as the other one is done, and fails with a sentence when that takes too long', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const other = openDatabase(path)
      other.exec('PRAGMA journal_mode = WAL; CREATE TABLE theirs (a); BEGIN IMMEDIATE')
      const store = sqliteStore({ path })
      const version = store.version(T, 's')
      for (let turns = 0; turns < 100; turns++) await turn()
      other.exec('ROLLBACK')
      expect(await version).toBe(0)
      other.exec('BEGIN IMMEDIATE')
      const hasty = sqliteStore({ path, lockTimeoutMs: 1 })
      await expect(hasty.append(T, 's', [item('a')])).rejects.toMatchObject({
        code: 'store-unavailable',
        fields: { reason: 'busy' },
        retryable: true,
      })
      other.exec('ROLLBACK')
      other.close()
      await hasty.close()
      await store.close()
    }))
})
