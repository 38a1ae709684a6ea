import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { edit, epoch, item } from '../../src/testing/session-store/records.ts'
import { withFolder } from './support/temporary.ts'
import { startWorker } from './support/worker-process.ts'

const COPIES = Number(process.env['PLIMSOLL_DAMAGE'] ?? 40)
const RECORDS = 60

interface Said {
  readonly seed: number
  readonly lengths: readonly (number | null)[]
  readonly clean?: boolean
}

describe('a damaged SQLite file', () => {
  it('ends no process, is searched to an end, and is never clean where a record is gone', async () => {
    const seed = Math.floor(Math.random() * 1e6)
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      for (const session of ['s1', 's2']) {
        const texts = Array.from({ length: RECORDS - 2 }, (_, i) => item(`i${i}`, `first words ${i} `.repeat(40)))
        await store.append('t', session, [...texts, edit('k')])
        await store.claimEpoch('t', session, epoch(`e-${session}`, `c-${session}`))
      }
      await store.search('t', 'words')
      await store.close()
      // Copies are of the file alone, so all must be in it.
      const whole = openDatabase(path)
      whole.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      whole.close()
      const worker = startWorker(new URL('support/damage-worker.ts', import.meta.url), [path, `${seed}`, `${COPIES}`])
      const said: Said[] = []
      worker.onLine((line) => said.push(JSON.parse(line) as Said))
      const { errors } = await worker.done
      expect(said, `seed ${seed}, after copy ${said.at(-1)?.seed}: ${errors}`).toHaveLength(COPIES)
      const silent = said.filter(({ lengths, clean }) => clean === true && lengths.some((n) => n !== RECORDS))
      expect(silent, `seed ${seed}`).toEqual([])
      expect(said.some(({ clean }) => clean === false)).toBe(true)
    })
  }, 120_000)

  it('is searched to an end where the mark of the index does not move', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      await store.append('t', 's', [item('i', 'a word')])
      const other = openDatabase(path)
      other.exec('CREATE TRIGGER stuck BEFORE UPDATE ON meta BEGIN SELECT RAISE(IGNORE); END')
      expect(await store.search('t', 'word')).toHaveLength(1)
      other.close()
      await store.close()
    })
  })

  it('says what is missing where the schema itself is damaged', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      await store.append('t', 's', [item('i', 'a word')])
      const other = openDatabase(path)
      other.exec('ALTER TABLE sessions RENAME COLUMN updated_at TO damaged')
      await expect(store.list('t')).rejects.toMatchObject({ code: 'store-unavailable', fields: { reason: 'corrupt' } })
      other.close()
      await store.close()
    })
  })
})
