import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { storeSecret } from '../../src/drivers/crypto/tenant-name.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import { openDatabase } from '../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import {
  exportStore,
  forkSession,
  importStore,
  migrateStore,
  pruneStore,
  storeStats,
  verifyStore,
} from '../../src/engine/store-admin/store-admin.ts'
import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'
import { audit, edit, epoch, item, readAll, undo } from '../../src/testing/session-store/records.ts'
import { manualClock } from '../../src/testing/session-store-suite.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { withFolder } from './support/temporary.ts'

const secret = randomBytes(32)

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

async function linesOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

async function fill(store: MaintainedStore): Promise<void> {
  await storeSecret(store)
  await store.append('A', 's1', [item('a', 'first words'), edit('k'), audit('why')])
  await store.claimEpoch('A', 's1', epoch('e1', 'c1'))
  await store.claimEpoch('A', 's2', epoch('e2', 'c1'))
  await store.append('A', 's2', [undo('e1')])
  await store.append(
    'B',
    'long',
    Array.from({ length: 650 }, (_, i) => item(`i${i}`, `line ${i} \ud800`)),
  )
}

async function contentOf(store: MaintainedStore): Promise<unknown> {
  const content: unknown[] = []
  for (const tenant of await store.tenants()) {
    for (const { session } of await store.list(tenant))
      content.push([tenant, session, await readAll(store, tenant, session)])
    content.push(
      await store.findEpochs(tenant, ['c1']),
      await store.findEdits(tenant, ['k']),
      await store.search(tenant, 'words'),
    )
  }
  return content
}

describe('export and import', () => {
  it('carries everything from SQLite to Postgres and back into an encrypted file', async () => {
    await withFolder(async (folder) => {
      const first = sqliteStore({ path: join(folder, 'first.db') })
      await fill(first)
      const second = postgresStore({ url: server.url, schema: 'imported' })
      const there = await importStore(second, exportStore(first, { withSecret: true }))
      expect(there).toMatchObject({ sessions: 3, records: 656, known: 0 })
      const third = sqliteStore({ path: join(folder, 'third.db'), seal: aesSeal(randomBytes(32)) })
      await importStore(third, await linesOf(exportStore(second, { withSecret: true })))
      expect(await contentOf(second)).toEqual(await contentOf(first))
      expect(await contentOf(third)).toEqual(await contentOf(first))
      expect(await storeSecret(third)).toEqual(await storeSecret(first))
      for (const store of [first, second, third]) {
        expect(await verifyStore(store)).toMatchObject({ clean: true, sessions: 3, records: 656 })
        await store.close()
      }
    })
  })

  it('goes on where a broken import stopped, and changes nothing when all is there', async () => {
    const [from, to] = [memoryStore(), memoryStore()]
    await fill(from)
    const lines = await linesOf(exportStore(from, { withSecret: true }))
    await expect(importStore(to, lines.slice(0, 400))).rejects.toMatchObject({ code: 'bad-input' })
    const report = await importStore(to, lines)
    expect(report.known).toBeGreaterThan(0)
    expect(report.known + report.records).toBe(656)
    expect(await importStore(to, lines)).toMatchObject({ records: 0, known: 656 })
    expect(await contentOf(to)).toEqual(await contentOf(from))
  })

  it('notices a changed line, a missing line, a session that differs and a foreign file', async () => {
    const from = memoryStore()
    await fill(from)
    const lines = await linesOf(exportStore(from))
    const changed = lines.map((line) => line.replace('first words', 'other words'))
    await expect(importStore(memoryStore(), changed)).rejects.toThrow(/hash/)
    await expect(importStore(memoryStore(), lines.toSpliced(4, 1))).rejects.toThrow(/has no log entry/)
    await expect(importStore(memoryStore(), ['{"hello":1}'])).rejects.toThrow(/not an export/)
    await expect(importStore(memoryStore(), ['not json'])).rejects.toThrow(/not JSON/)
    await expect(importStore(memoryStore(), ['{"plimsoll":"export","version":9,"records":1}'])).rejects.toMatchObject({
      code: 'unsupported',
    })
    const other = memoryStore()
    await other.append('A', 's1', [item('z')])
    await expect(importStore(other, lines)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('exports one tenant or one session, and the secret only when asked', async () => {
    const store = memoryStore()
    await fill(store)
    expect((await linesOf(exportStore(store, { tenant: 'A' }))).join()).not.toContain('"long"')
    const one = await linesOf(exportStore(store, { tenant: 'A', session: 's1' }))
    expect(JSON.parse(one.at(-1) ?? '')).toMatchObject({ sessions: 1, records: 4 })
    expect(one.join()).not.toContain('secret')
  })

  it('takes artifacts along, and refuses them where handles would change', async () => {
    const [from, to] = [memoryStore(), memoryStore()]
    const artifacts = memoryArtifacts({ secret })
    const bytes = randomBytes(1_300_000)
    const { handle } = await artifacts.put('A', bytes, { tool: 'bash', session: 's' })
    await artifacts.put('A', new Uint8Array(), { session: 's' })
    await from.append('A', 's', [{ ...edit('k'), handle }])
    const lines = await linesOf(exportStore(from, { artifacts }))
    const copies = memoryArtifacts({ secret })
    expect(await importStore(to, lines, { artifacts: copies })).toMatchObject({ artifacts: 2, records: 1 })
    expect(Buffer.compare((await copies.read('A', handle)) ?? new Uint8Array(), bytes)).toBe(0)
    expect(await verifyStore(to, { artifacts: copies })).toMatchObject({ clean: true })
    const strangers = memoryArtifacts({ secret: randomBytes(32) })
    await expect(importStore(memoryStore(), lines, { artifacts: strangers })).rejects.toThrow(/secrets differ/)
    expect(await strangers.list('A')).toEqual([])
  })
})

describe('verify', () => {
  it('names handles that lead nowhere', async () => {
    const store = memoryStore()
    const artifacts = memoryArtifacts({ secret })
    const { handle } = await artifacts.put('A', Buffer.from('x'))
    await store.append('A', 's', [
      { ...edit('k'), handle },
      { ...audit('cut'), handle },
    ])
    expect(await verifyStore(store, { artifacts })).toMatchObject({ clean: true })
    await artifacts.remove('A', handle)
    const { clean, dangling } = await verifyStore(store, { artifacts })
    expect(clean).toBe(false)
    expect(dangling).toEqual([
      { tenant: 'A', session: 's', version: 1, handle },
      { tenant: 'A', session: 's', version: 2, handle },
    ])
  })

  it('reports what the driver finds', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const store = sqliteStore({ path, onDamage: () => {} })
      await fill(store)
      const db = openDatabase(path)
      db.exec("UPDATE records SET body = 'x' WHERE id = 2; DELETE FROM epochs;")
      db.close()
      const { clean, problems } = await verifyStore(store)
      expect(clean).toBe(false)
      expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['unreadable', 'index']))
      await store.close()
    })
  })
})

describe('prune', () => {
  it('keeps what a live log names, whatever happened to its references', async () => {
    const clock = manualClock(1000)
    const store = memoryStore({ clock })
    const artifacts = memoryArtifacts({ secret, clock })
    const put = (text: string, session: string) => artifacts.put('A', Buffer.from(text), { session })
    const [dead, live, forked] = [await put('dead', 'old'), await put('live', 'new'), await put('forked', 'old')]
    await store.append('A', 'old', [{ ...edit('k1'), handle: dead.handle }])
    await store.append('A', 'old', [{ ...edit('k2'), handle: forked.handle }])
    clock.advance(1000)
    await store.append('A', 'new', [{ ...edit('k3'), handle: live.handle }])
    await store.append('A', 'fork', [{ ...edit('k2'), handle: forked.handle }])
    await artifacts.release('A', 'new')
    const report = await pruneStore(store, { before: 2000, artifacts, rule: { keep: 0 } })
    expect(report).toEqual({ sessions: [{ tenant: 'A', session: 'old' }], artifacts: [dead.handle] })
    expect(await verifyStore(store, { artifacts })).toMatchObject({ clean: true })
    expect(await pruneStore(store, { before: 5000, tenant: 'B' })).toEqual({ sessions: [], artifacts: [] })
  })

  it('lets a fork keep the artifacts of the session it came from', async () => {
    const store = memoryStore()
    const artifacts = memoryArtifacts({ secret })
    const { handle } = await artifacts.put('A', Buffer.from('x'), { session: 'from' })
    await store.append('A', 'from', [{ ...edit('k'), handle }])
    expect(await forkSession(store, artifacts, { tenant: 'A', from: 'from', to: 'to' })).toBe(1)
    await store.remove('A', 'from')
    await artifacts.release('A', 'from')
    expect(await artifacts.prune('A', { keep: 0 })).toEqual([])
  })
})

describe('stats and migrations', () => {
  it('says what was done on first use, and nothing afterwards', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'store.db')
      const first = sqliteStore({ path })
      const { from, to, applied } = await migrateStore(first)
      expect({ from, to }).toEqual({ from: 0, to: applied.length })
      await fill(first)
      await first.close()
      const second = sqliteStore({ path })
      expect(await migrateStore(second)).toMatchObject({ applied: [] })
      const stats = await storeStats(second)
      expect(stats).toMatchObject({ driver: 'sqlite', sealed: false, tenants: 3, sessions: 3, records: 656, epochs: 1 })
      expect(stats.diskBytes).toBeGreaterThan(stats.recordBytes)
      await second.close()
    })
  })
})
