import { randomBytes } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aesSeal, keyFromEnvironment, plainSeal } from '../../src/drivers/crypto/seal.ts'
import { aesByteSeal } from '../../src/drivers/crypto/byte-seal.ts'
import { storeSecret, tenantName } from '../../src/drivers/crypto/tenant-name.ts'
import { connectPostgres } from '../../src/drivers/postgres/connection.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import { openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { edit, epoch, item, readAll } from '../../src/testing/session-store/records.ts'
import { subjectOf, testSessionStore } from './run-suite.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { temporaryFolder, withFolder } from './support/temporary.ts'

const KEY = Buffer.alloc(32, 7)
const seal = aesSeal(KEY)
const SEED = 611

let server: PostgresServer
let count = 0
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

testSessionStore('sqlite, encrypted', async () => {
  const { folder, remove } = await temporaryFolder()
  return subjectOf((options) => sqliteStore({ ...options, seal, path: join(folder, 'store.db') }), remove)
})

testSessionStore('postgres, encrypted', () => {
  const schema = `sealed_${count++}`
  return subjectOf((options) => postgresStore({ ...options, seal, url: server.url, schema, poolSize: 4 }))
})

const SECRETS = ['walnutpassphrase', 'identitysecret', 'coversecret', 'keysecret', 'summarysecret', 'valuesecret']
const records = [
  item('identitysecret', 'the walnutpassphrase is here'),
  epoch('epochsecret', 'coversecret', 'summarysecret'),
  edit('keysecret', 'walnutpassphrase'),
]

describe('encryption at rest', () => {
  it('leaves no word, key or value readable in the SQLite files', async () => {
    await withFolder(async (folder) => {
      const store = sqliteStore({ path: join(folder, 'store.db'), seal })
      await store.append('t', 's', records)
      await store.setValue('t', 'k', 'valuesecret')
      const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file))))
      for (const secret of SECRETS)
        expect(
          files.some((bytes) => bytes.includes(secret)),
          secret,
        ).toBe(false)
      expect(files.some((bytes) => bytes.includes('sessions'))).toBe(true)
      expect((await store.search('t', 'walnutpassphrase'))[0]?.excerpt).toContain('walnutpassphrase')
      await store.close()
    })
  })

  it('leaves no word, key or value readable in the tables of Postgres', async () => {
    const store = postgresStore({ url: server.url, schema: 'dump', seal })
    await store.append('t', 's', records)
    await store.setValue('t', 'k', 'valuesecret')
    const raw = connectPostgres({ url: server.url, schema: 'dump' })
    const dumps = await Promise.all(
      ['records', 'epochs', 'undos', 'edits', 'edit_firsts', 'items', 'words', 'vals'].map((table) =>
        raw.query(`SELECT * FROM ${table}`),
      ),
    )
    const text = JSON.stringify(dumps)
    expect(text.length).toBeGreaterThan(1000)
    for (const secret of SECRETS) expect(text.includes(secret), secret).toBe(false)
    await Promise.all([store.close(), raw.close()])
  })

  it('refuses another key, no key, and a key for a plain store', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const first = sqliteStore({ path, seal })
      await first.append('t', 's', records)
      await first.close()
      await expect(sqliteStore({ path }).version('t', 's')).rejects.toMatchObject({ code: 'bad-config' })
      await expect(sqliteStore({ path, seal: aesSeal(Buffer.alloc(32, 8)) }).version('t', 's')).rejects.toThrow(
        /another key/,
      )
      const plain = join(folder, 'plain.db')
      const second = sqliteStore({ path: plain })
      await second.append('t', 's', records)
      await second.close()
      await expect(sqliteStore({ path: plain, seal }).version('t', 's')).rejects.toThrow(/not encrypted/)
    })
    const store = postgresStore({ url: server.url, schema: 'keys', seal })
    await store.append('t', 's', records)
    const other = postgresStore({ url: server.url, schema: 'keys', seal: plainSeal })
    await expect(other.version('t', 's')).rejects.toMatchObject({ code: 'bad-config' })
    await Promise.all([store.close(), other.close()])
  })

  it('does not open a record that was moved to another tenant, or changed in one bit', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const damage: unknown[] = []
      const store = sqliteStore({ path, seal, onDamage: (problem) => damage.push(problem) })
      await store.append('victim', 's', [item('a', 'private words')])
      await store.append('thief', 's', [item('b', 'own words')])
      const db = openDatabase(path)
      db.exec(
        'UPDATE records SET body = (SELECT body FROM records WHERE id = 1), sum = (SELECT sum FROM records WHERE id = 1) WHERE id = 2',
      )
      db.close()
      expect(await readAll(store, 'thief', 's')).toEqual([])
      expect(damage).toHaveLength(1)
      expect((await store.check()).map(({ kind }) => kind)).toContain('unreadable')
      await store.close()
    })
    const sealed = Buffer.from(seal.seal('t', 'text'))
    for (let bit = 0; bit < sealed.length * 8; bit += 7) {
      const changed = Buffer.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => seal.open('t', changed)).toThrow()
    }
  })
})

describe('sealed artifacts', () => {
  const bytes = randomBytes(200_000)
  const byteSeal = aesByteSeal(KEY)

  it(`opens any range of any size (seed ${SEED})`, () => {
    const sizes = fc.oneof(
      fc.constantFrom(0, 1, 65_535, 65_536, 65_537, 131_072, 200_000),
      fc.integer({ min: 0, max: 200_000 }),
    )
    fc.assert(
      fc.property(
        sizes,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (size, a, b) => {
          const plain = bytes.subarray(0, size)
          const [start, end] = [Math.floor(Math.min(a, b) * size), Math.floor(Math.max(a, b) * size)]
          const sealed = byteSeal.seal('t', 'h', plain)
          const span = byteSeal.span({ start, end }, size)
          const opened = byteSeal.open('t', 'h', sealed.subarray(span.start, span.end), { start, end }, size)
          expect(Buffer.compare(opened, plain.subarray(start, end))).toBe(0)
          expect(span.end - span.start).toBeLessThan(end - start + 3 * 65_600)
        },
      ),
      { seed: SEED, numRuns: 200 },
    )
  })

  it('gives the same sealed bytes for the same content, and opens for nobody else', () => {
    const sealed = byteSeal.seal('t', 'h', bytes)
    const whole = { start: 0, end: bytes.length }
    expect(Buffer.compare(sealed, byteSeal.seal('t', 'h', bytes))).toBe(0)
    expect(() => byteSeal.open('u', 'h', sealed, whole, bytes.length)).toThrow()
    expect(() => byteSeal.open('t', 'i', sealed, whole, bytes.length)).toThrow()
    expect(() => byteSeal.open('t', 'h', sealed, whole, bytes.length - 1)).toThrow()
    const swapped = Buffer.concat([
      sealed.subarray(65_552, 131_104),
      sealed.subarray(0, 65_552),
      sealed.subarray(131_104),
    ])
    expect(() => byteSeal.open('t', 'h', swapped, whole, bytes.length)).toThrow()
    expect(() => byteSeal.open('t', 'h', sealed.subarray(0, 131_104), whole, bytes.length)).toThrow()
  })
})

describe('keys and tenants', () => {
  it('takes a key as hex or base64, from the environment or a file, and never repeats it in an error', async () => {
    expect(keyFromEnvironment({})).toBeUndefined()
    expect(keyFromEnvironment({ PLIMSOLL_KEY: KEY.toString('hex') })).toEqual(KEY)
    expect(keyFromEnvironment({ PLIMSOLL_KEY: KEY.toString('base64') })).toEqual(KEY)
    await withFolder(async (folder) => {
      await writeFile(join(folder, 'key'), `${KEY.toString('hex')}\n`)
      expect(keyFromEnvironment({ PLIMSOLL_KEY_FILE: join(folder, 'key') })).toEqual(KEY)
      expect(() => keyFromEnvironment({ PLIMSOLL_KEY_FILE: join(folder, 'none') })).toThrow(/cannot be read/)
      expect(() => keyFromEnvironment({ PLIMSOLL_KEY: 'x', PLIMSOLL_KEY_FILE: 'y' })).toThrow(/Two/)
    })
    const wrong = 'hunter2hunter2'
    expect(() => keyFromEnvironment({ PLIMSOLL_KEY: wrong })).toThrow(/hex/)
    expect(() => keyFromEnvironment({ PLIMSOLL_KEY: wrong })).not.toThrow(new RegExp(wrong))
    expect(() => aesSeal(Buffer.alloc(16))).toThrow(/needs 32/)
  })

  it('names tenants by a keyed hash that two processes agree on', async () => {
    const store = memoryStore()
    const [one, two] = await Promise.all([storeSecret(store), storeSecret(store)])
    expect(one).toEqual(two)
    const nameOf = (given: string): string => tenantName(one, given)
    const credential = 'sk-live-1234567890'
    expect(nameOf(credential)).toBe(tenantName(two, credential))
    expect(nameOf(credential)).toMatch(/^t_[0-9a-f]{32}$/)
    expect(nameOf(credential)).not.toBe(nameOf(`${credential} `))
    expect(nameOf('\ud800')).not.toBe(nameOf('\ud801'))
    expect(nameOf(credential)).not.toBe(tenantName(randomBytes(32), credential))
  })
})
