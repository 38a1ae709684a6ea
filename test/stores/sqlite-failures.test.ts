import { spawn } from 'node:child_process'
import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { engineError, openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import type { StoreProblem } from '../../src/ports/store-maintenance.ts'
import { edit, epoch, item, readAll } from '../../src/testing/session-store/records.ts'
import { withFolder } from './support/temporary.ts'
import { startWorker } from './support/worker-process.ts'

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777
const ten = Array.from({ length: 10 }, (_, i) => item(`i${i}`))

async function lineOf(worker: ReturnType<typeof startWorker>): Promise<Record<string, unknown>> {
  let said: Record<string, unknown> = {}
  worker.onLine((line) => {
    said = JSON.parse(line) as Record<string, unknown>
  })
  const { errors } = await worker.done
  if (said['code'] === undefined) throw new Error(`The process said nothing: ${errors}`)
  return said
}

describe('sqlite: when the disk says no', () => {
  it('fails clearly in a directory it may not write to', async () => {
    await withFolder(async (folder) => {
      await chmod(folder, 0o755)
      const closed = join(folder, 'closed')
      await mkdir(closed)
      await chmod(closed, 0o555)
      const file = new URL('support/read-only-worker.ts', import.meta.url)
      const said = await lineOf(startWorker(file, [join(closed, 'store.db'), join(folder, 'warm.db')]))
      expect(said).toMatchObject({ code: 'store-unavailable', reason: 'read-only' })
      expect(said['message']).toContain('store.db')
      expect(await readdir(closed)).toEqual([])
      await chmod(closed, 0o755)
    })
  })

  it('leaves an existing store as it was when its directory became read-only', async () => {
    await withFolder(async (folder) => {
      await chmod(folder, 0o755)
      const closed = join(folder, 'closed')
      const path = join(closed, 'store.db')
      const store = sqliteStore({ path })
      await store.append('t', 's', ten)
      await store.close()
      await chmod(path, 0o444)
      await chmod(closed, 0o555)
      const file = new URL('support/read-only-worker.ts', import.meta.url)
      const said = await lineOf(startWorker(file, [path, join(folder, 'warm.db')]))
      expect(said).toMatchObject({ code: 'store-unavailable', reason: 'read-only' })
      await chmod(closed, 0o755)
      await chmod(path, 0o644)
      const again = sqliteStore({ path })
      expect(await readAll(again, 't', 's')).toHaveLength(10)
      expect(await again.check()).toEqual([])
      await again.close()
    })
  })

  it('fails clearly when no byte more fits, and keeps what it acknowledged', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const worker = fileURLToPath(new URL('support/full-disk-worker.ts', import.meta.url))
      // A file-size limit stops writes as a full disk does, and needs no right to mount one.
      const child = spawn('sh', [
        '-c',
        'ulimit -f 2000; exec "$@"',
        'sh',
        process.execPath,
        '--import',
        'tsx',
        worker,
        path,
      ])
      let output = ''
      for await (const part of child.stdout.setEncoding('utf8')) output += String(part)
      const said = JSON.parse(output) as { version: number; code: string; reason: string }
      expect(said).toMatchObject({ code: 'store-unavailable', reason: 'io' })
      expect(said.version).toBeGreaterThan(10)
      const store = sqliteStore({ path })
      const log = await readAll(store, 't', 's')
      expect(log.map(({ version }) => version)).toEqual(Array.from({ length: said.version }, (_, i) => i + 1))
      expect(await store.check()).toEqual([])
      expect(await store.append('t', 's', ten)).toBe(said.version + 10)
      await store.close()
    })
  })

  it.each([
    [{ errcode: 13 }, 'disk-full', false],
    [{ rawCode: 13 }, 'disk-full', false],
    [{ code: 'ENOSPC' }, 'disk-full', false],
    [{ rawCode: 778 }, 'io', false],
    [{ code: 'SQLITE_BUSY_SNAPSHOT' }, 'busy', true],
    [{ errcode: 8 }, 'read-only', false],
    [{ errcode: 26 }, 'not-a-database', false],
  ])('says what %o of an engine means', (fields, reason, retryable) => {
    const error = engineError(Object.assign(new Error('raw'), fields), '/x.db')
    expect(error).toMatchObject({ code: 'store-unavailable', fields: { reason, path: '/x.db' }, retryable })
  })

  it('refuses a file that is no database, and leaves it alone', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'notes.txt')
      await writeFile(path, 'these are my notes, not a database\n'.repeat(50))
      const store = sqliteStore({ path })
      await expect(store.append('t', 's', ten)).rejects.toMatchObject({
        code: 'store-unavailable',
        fields: { reason: 'not-a-database' },
      })
      expect(await readFile(path, 'utf8')).toContain('these are my notes')
    })
  })

  it('refuses a store with a newer schema', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const db = openDatabase(path)
      db.exec('PRAGMA user_version = 99')
      db.close()
      await expect(sqliteStore({ path }).version('t', 's')).rejects.toMatchObject({ code: 'unsupported' })
    })
  })
})

describe('sqlite: damage', () => {
  const damages: readonly [name: string, sql: string, kind: StoreProblem['kind']][] = [
    [
      'a flipped byte',
      "UPDATE records SET body = replace(body, 'text of i4', 'text of i9') WHERE version = 5",
      'unreadable',
    ],
    ['a torn record', 'UPDATE records SET body = substr(body, 1, 40) WHERE version = 5', 'unreadable'],
    ['an empty record', "UPDATE records SET body = '' WHERE version = 5", 'unreadable'],
    ['a lost checksum', "UPDATE records SET sum = '' WHERE version = 5", 'unreadable'],
    ['binary rubbish', "UPDATE records SET body = x'00ff00ff' WHERE version = 5", 'unreadable'],
    ['a missing record', 'DELETE FROM records WHERE version = 5', 'gap'],
  ]

  it.each(damages)('reads on past %s, says so once, and verify finds it', async (_, sql, kind) => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const first = sqliteStore({ path })
      await first.append('t', 's', ten)
      await first.close()
      const db = openDatabase(path)
      db.exec(sql)
      db.close()
      const told: StoreProblem[] = []
      const store = sqliteStore({ path, onDamage: (problem) => told.push(problem) })
      const log = await readAll(store, 't', 's')
      expect(log.map(({ version }) => version)).toEqual([1, 2, 3, 4, 6, 7, 8, 9, 10])
      expect(log.map(({ record }) => record)).toEqual(ten.filter((_, i) => i !== 4))
      expect(told).toHaveLength(kind === 'gap' ? 0 : 1)
      expect((await store.check()).some((problem) => problem.kind === kind && problem.version === 5)).toBe(true)
      expect(await store.append('t', 's', [item('more')], 10)).toBe(11)
      await store.close()
    })
  })

  // Some libraries end the whole process when they meet such a text.
  it.each([
    ['records', 'body'],
    ['records', 'sum'],
    ['sessions', 'name'],
    ['tenants', 'name'],
    ['edits', 'key'],
    ['epochs', 'epoch'],
    ['epochs', 'cover'],
    ['items', 'identity'],
    ['vals', 'value'],
    ['meta', 'value'],
    ['leases', 'holder'],
  ])('goes on, or says so, when bytes of %s.%s are no text any more', async (table, column) => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const first = sqliteStore({ path, onDamage: () => undefined })
      await first.append('t', 's', [...ten, epoch('e', 'c'), edit('k')])
      await first.setValue('t', 'key', 'value')
      await first.lease('t', 'work', 'holder', 60_000)
      await first.search('t', 'text')
      await first.close()
      const db = openDatabase(path)
      db.exec(`UPDATE ${table} SET ${column} = CAST(x'C328FFFE80' || CAST(${column} AS BLOB) AS TEXT)`)
      db.close()
      const store = sqliteStore({ path, onDamage: () => undefined })
      const outcomes = await Promise.allSettled([
        readAll(store, 't', 's'),
        store.version('t', 's'),
        store.findEpochs('t', ['c']),
        store.findEdits('t', ['k']),
        store.seen('t', ['i1']),
        store.list('t'),
        store.search('t', 'text'),
        store.getValue('t', 'key'),
        store.lease('t', 'work', 'other', 1_000),
        store.claimEpoch('t', 's', epoch('f', 'c')),
        store.fork('t', 's', 'forked'),
        store.append('t', 'more', [item('more')]),
        store.tenants(),
        store.check(),
        store.stats(),
        store.prune('t', Number.MAX_SAFE_INTEGER),
      ])
      expect(outcomes).toHaveLength(16)
      await store.close()
    })
  })

  it('stops at a record of a newer package instead of guessing', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      // Written as a newer package would.
      await store.append('t', 's', [{ ...item('a'), v: 7 as unknown as 1 }])
      await expect(readAll(store, 't', 's')).rejects.toSatisfy((error) => isPlimsollError(error, 'unsupported'))
      await store.close()
    })
  })
})

describe('sqlite: files', () => {
  it('makes its files for this user only, whatever the umask', async () => {
    const umask = process.umask(0o000)
    try {
      await withFolder(async (folder) => {
        const path = join(folder, 'deep', 'er', 'store.db')
        const store = sqliteStore({ path })
        await store.append('t', 's', ten)
        for (const file of await readdir(join(folder, 'deep', 'er')))
          expect(await modeOf(join(folder, 'deep', 'er', file))).toBe(0o600)
        expect(await readdir(join(folder, 'deep', 'er'))).toContain('store.db-wal')
        expect(await modeOf(join(folder, 'deep', 'er'))).toBe(0o700)
        expect(await modeOf(join(folder, 'deep'))).toBe(0o700)
        await store.close()
      })
    } finally {
      process.umask(umask)
    }
  })

  it('keeps a mode that an operator widened', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const first = sqliteStore({ path })
      await first.append('t', 's', ten)
      await first.close()
      await chmod(path, 0o640)
      const second = sqliteStore({ path })
      await second.append('t', 's', ten)
      expect(await modeOf(path)).toBe(0o640)
      await second.close()
    })
  })

  it('leaves no byte of a removed session behind', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path })
      const secret = 'xylophonesecret'
      await store.append('t', 'gone', [item('a', `the ${secret} is here`), epoch('e', 'c', secret)])
      await store.append('t', 'kept', [item('b', 'something else')])
      const onDisk = async (): Promise<boolean> => {
        const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file))))
        return files.some((bytes) => bytes.includes(secret))
      }
      expect(await onDisk()).toBe(true)
      await store.remove('t', 'gone')
      expect(await onDisk()).toBe(false)
      expect(await store.check()).toEqual([])
      await store.close()
    })
  })

  it('touches nothing before it is used', async () => {
    await withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'deep', 'store.db') })
      await store.close()
      expect(await readdir(folder)).toEqual([])
    })
  })
})
