import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it, vi } from 'vitest'
import { aesSeal } from '../../src/drivers/crypto/aes-seal.ts'
import { openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { edit, item, readAll } from '../../src/testing/session-store/records.ts'
import { subjectOf, testSessionStore } from './run-suite.ts'
import { temporaryFolder, withFolder } from './support/temporary.ts'
import { startWorker } from './support/worker-process.ts'

testSessionStore('sqlite, written by a thread', async () => {
  const { folder, remove } = await temporaryFolder()
  return subjectOf((options) => sqliteStore({ ...options, path: join(folder, 'store.db'), threadAfter: 0 }), remove)
})

const T = 'tenant'

/** The thread that the next store starts. */
const nextThread = (): Promise<Worker> => new Promise((resolve) => process.once('worker', resolve))

describe('a process whose thread writes', () => {
  it('knows its own commits from those of another process, in whatever order they come', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const [ours, other] = [sqliteStore({ path, threadAfter: 0 }), sqliteStore({ path, threadAfter: Infinity })]
      const known = async (): Promise<readonly unknown[]> => [
        await ours.getValue(T, 'k'),
        (await ours.findEdits(T, ['e'])).length,
        await ours.version(T, 's'),
      ]
      const look = async (): Promise<readonly unknown[]> => {
        // Often enough that it stops asking the database.
        for (let times = 0; times < 20; times++) await known()
        await turn()
        return known()
      }
      await ours.append(T, 's', [item('a')])
      expect(await look()).toEqual([undefined, 0, 1])
      await ours.append(T, 'mine', [item('b')])
      await other.setValue(T, 'k', 'first')
      expect(await look()).toEqual(['first', 0, 1])
      await ours.append(T, 'mine', [item('d')])
      expect(await look()).toEqual(['first', 0, 1])
      await other.append(T, 's', [edit('e')])
      await ours.append(T, 'mine', [item('c')])
      expect(await look()).toEqual(['first', 1, 2])
      await ours.setValue(T, 'k', 'second')
      expect(await look()).toEqual(['second', 1, 2])
      await other.setValue(T, 'k', 'third')
      await other.remove(T, 's')
      expect(await look()).toEqual(['third', 0, 0])
      await ours.close()
      await other.close()
    }))

  it('loses nothing when another process opens the file and closes it', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path, threadAfter: 1 })
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

  it('holds what was committed last, whoever is told of it last', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db'), threadAfter: 0 })
      const soon = { durable: 'soon' } as const
      await Promise.all([store.setValue(T, 'k', 'first'), store.setValue(T, 'k', 'second', false, soon)])
      expect(await store.getValue(T, 'k')).toBe('second')
      await Promise.all([store.append(T, 's', []), store.append(T, 's', [item('a')], undefined, soon)])
      expect(await store.version(T, 's')).toBe(1)
      await store.close()
    }))

  it('does not take an acknowledgement for newer than what another process wrote before it came', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const [ours, other] = [sqliteStore({ path, threadAfter: 0 }), sqliteStore({ path, threadAfter: Infinity })]
      await ours.append(T, 's', [item('a')])
      for (let version = 2; version < 40; version += 2) {
        const written = [ours.append(T, 's', [item(`a${version}`)]), ours.setValue(T, 'k', `ours ${version}`)]
        while ((await other.version(T, 's')) < version) await turn()
        await other.append(T, 's', [item(`b${version}`)], undefined, { durable: 'soon' })
        await other.setValue(T, 'k', `other ${version}`, false, { durable: 'soon' })
        const looked = [await ours.version(T, 'none'), await ours.getValue(T, 'none')]
        await Promise.all(written)
        expect([...looked, await ours.version(T, 's')]).toEqual([0, undefined, version + 1])
        expect(await ours.getValue(T, 'k')).toBe(await other.getValue(T, 'k'))
      }
      await ours.close()
      await other.close()
    }))

  it('hears of whoever leaves no name', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path, threadAfter: 0 })
      await store.setValue(T, 'k', 'ours')
      expect(await store.getValue(T, 'k')).toBe('ours')
      await turn()
      expect(await store.getValue(T, 'k')).toBe('ours')
      const db = openDatabase(path)
      db.exec("UPDATE vals SET value = 'by hand'")
      db.close()
      await turn()
      expect(await store.getValue(T, 'k')).toBe('by hand')
      await store.close()
    }))

  it('leaves the search index to it', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const lastWriter = (): unknown => {
        const db = openDatabase(path)
        const name = db.all("SELECT value FROM meta WHERE key = 'writer'")[0]!['value']
        db.close()
        return name
      }
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      try {
        const store = sqliteStore({ path, threadAfter: 1 })
        await store.append(T, 's', [item('a', 'a narwhal')])
        const first = lastWriter()
        while (lastWriter() === first) await store.append(T, 's', [item('b', 'a walrus')])
        const thread = lastWriter()
        await vi.advanceTimersByTimeAsync(60_000)
        await turn()
        expect(lastWriter()).toBe(thread)
        expect(await store.search(T, 'narwhal')).toHaveLength(1)
        expect(lastWriter()).toBe(thread)
        await store.close()
      } finally {
        vi.useRealTimers()
      }
    }))

  it('takes no write after it began to close, and closes once', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db'), threadAfter: 0 })
      let isWritten = false
      const written = store
        .append(T, 's', [item('a')], undefined, { durable: 'batched' })
        .then(() => (isWritten = true))
      const closing = store.close()
      await expect(store.append(T, 's', [item('b')])).rejects.toMatchObject({ code: 'closed' })
      await store.close()
      expect(isWritten).toBe(true)
      await Promise.all([written, closing])
    }))

  it('goes on without it when it ends, and says so to whoever waited', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const started = nextThread()
      const store = sqliteStore({ path, threadAfter: 0 })
      expect(await store.append(T, 's', [item('a')])).toBe(1)
      const thread = await started
      const lost = store.append(T, 's', [item('b')], undefined, { durable: 'batched' })
      await Promise.all([
        expect(lost).rejects.toMatchObject({
          code: 'store-unavailable',
          fields: { path, reason: 'thread', outcome: 'unknown' },
          retryable: false,
        }),
        thread.terminate(),
      ])
      expect(await store.append(T, 's', [item('c')])).toBe(2)
      expect(await store.version(T, 's')).toBe(2)
      await store.close()
    }))

  it('writes itself where the thread cannot start', () =>
    withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db'), threadAfter: 1 })
      const gone = nextThread().then((thread) => thread.terminate())
      for (let version = 1; version < 5; version++)
        expect(await store.append(T, 's', [item(`i${version}`)])).toBe(version)
      await gone
      for (let version = 5; version < 9; version++)
        expect(await store.append(T, 's', [item(`i${version}`)])).toBe(version)
      await store.close()
    }))

  it('writes nothing there under encryption, whose key stays on its own thread', () =>
    withFolder(async (folder) => {
      let threads = 0
      const count = (): void => void threads++
      process.on('worker', count)
      const store = sqliteStore({ path: join(folder, 'store.db'), threadAfter: 0, seal: aesSeal(Buffer.alloc(32, 7)) })
      await store.append(T, 's', [item('a')])
      await store.close()
      process.off('worker', count)
      expect(threads).toBe(0)
    }))

  it('ends by itself where the thread has nothing to do yet', () =>
    withFolder(async (folder) => {
      const file = new URL('support/few-writes-worker.ts', import.meta.url)
      const { code, errors } = await startWorker(file, [join(folder, 'store.db')]).done
      expect({ code, errors }).toEqual({ code: 0, errors: '' })
    }))

  it('gives its writes to a thread when there are many, loses none on the way, and ends by itself', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const worker = startWorker(new URL('support/many-writes-worker.ts', import.meta.url), [path])
      const lines: string[] = []
      worker.onLine((line) => lines.push(line))
      const { errors } = await worker.done
      expect(errors).toBe('')
      const count = Number(lines[0])
      const store = sqliteStore({ path })
      const log = await readAll(store, T, 's')
      expect(log.map(({ version }) => version)).toEqual(Array.from({ length: count }, (_, n) => n + 1))
      expect(log.map(({ record }) => record)).toEqual(Array.from({ length: count }, (_, n) => item(`i${n}`)))
      expect(await store.check()).toEqual([])
      await store.close()
    }))
})
