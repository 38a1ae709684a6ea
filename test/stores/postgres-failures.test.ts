import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { liveEvents } from '../../src/drivers/live-events.ts'
import { connectPostgres } from '../../src/drivers/postgres/connection.ts'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import type { StoreProblem } from '../../src/ports/store-maintenance.ts'
import { audit, edit, epoch, item, readAll } from '../../src/testing/session-store/records.ts'
import { flakyLine } from './support/flaky-line.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

describe('postgres: when the server goes away', () => {
  it('writes every append exactly once through crashes of the server', async () => {
    const store = postgresStore({ url: server.url, schema: 'crashes', retryForMs: 60_000, poolSize: 4 })
    const marks: string[] = []
    let working = true
    const lane = async (name: string): Promise<void> => {
      for (let i = 0; ; i++) {
        if (!working) return
        const mark = `${name}-${i}`
        await store.append('t', name, [audit(mark), item(mark)])
        marks.push(mark)
      }
    }
    const lanes = ['a', 'b', 'c', 'd'].map(lane)
    for (let round = 0; round < 4; round++) {
      const before = marks.length
      await until(() => marks.length > before + 20)
      await server.crash()
      await server.start()
    }
    working = false
    await Promise.all(lanes)
    const logs = await Promise.all(['a', 'b', 'c', 'd'].map((name) => readAll(store, 't', name)))
    const written = logs.flat().flatMap(({ record }) => (record.type === 'audit' ? [record.reason] : []))
    expect(written.sort()).toEqual(marks.sort())
    expect(await store.check()).toEqual([])
    await store.close()
  })

  it.each(['request', 'answer'] as const)(
    'writes once when the connection breaks and takes the %s along',
    async (what) => {
      const line = await flakyLine(server.socket)
      const store = postgresStore({ url: line.url, schema: `lost_${what}`, poolSize: 1 })
      await store.append('t', 's', [item('a')])
      for (let round = 0; round < 5; round++) {
        line.loseNext(what)
        expect(await store.append('t', 's', [item(`b${round}`), item(`c${round}`)])).toBe(3 + 4 * round)
        line.loseNext(what)
        expect(await store.append('t', 's', [item(`d${round}`), item(`e${round}`)], 3 + 4 * round)).toBe(5 + 4 * round)
      }
      line.loseNext(what)
      expect((await store.claimEpoch('t', 's', epoch('e', 'c'))).epoch.id).toBe('e')
      expect(line.lost()).toBe(11)
      const identities = (await readAll(store, 't', 's')).flatMap(({ record }) =>
        record.type === 'item-seen' ? [record.identity] : [],
      )
      expect(identities).toHaveLength(21)
      expect(new Set(identities).size).toBe(21)
      expect(await store.version('t', 's')).toBe(22)
      expect(await store.check()).toEqual([])
      await store.close()
      await line.close()
    },
  )

  it('says that the server is away, and works again when it is back', async () => {
    const store = postgresStore({ url: server.url, schema: 'away', retryForMs: 1_500 })
    await store.append('t', 's', [item('a')])
    await server.crash()
    await expect(store.append('t', 's', [item('b')])).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
    await expect(store.findEpochs('t', ['c'])).rejects.toMatchObject({ code: 'store-unavailable' })
    await server.start()
    await until(() => store.append('t', 's', [item('c')]).then(Boolean, () => false))
    expect(await store.version('t', 's')).toBe(2)
    await store.close()
  })

  it.each(['answers nothing more', 'answers too late'])(
    'waits once for a server that %s, and asks it again until it answers',
    async (what) => {
      const line = await flakyLine(server.socket)
      const store = postgresStore({ url: line.url, schema: 'slow', retryForMs: 3_000 })
      await store.append('t', 's', [item('a')])
      line.delay(what === 'answers too late' ? 400 : Infinity)
      await store.append('t', 's', [item('b')]).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'store-unavailable', retryable: true })
      })
      // The first call of each second asks how fast it is; no other reaches the server.
      await store.version('t', 's').catch(() => undefined)
      const before = line.messages()
      for (let i = 0; i < 20; i++)
        await expect(store.version('t', 's')).rejects.toMatchObject({ code: 'store-unavailable' })
      expect(line.messages() - before).toBeLessThanOrEqual(4)
      line.delay(0)
      await until(() => store.append('t', 's', [item('c')]).then(Boolean, () => false))
      expect((await readAll(store, 't', 's')).at(-1)?.record).toMatchObject({ identity: 'c' })
      await store.close()
      await line.close()
    },
  )

  it('says what is wrong with an address', async () => {
    const store = postgresStore({ url: server.url.replace('/postgres?', '/nowhere?') })
    await expect(store.version('t', 's')).rejects.toMatchObject({ code: 'bad-config' })
    await store.close()
    expect(() => postgresStore({ url: server.url, schema: 'x; DROP' })).toThrow(/lower-case/)
  })
})

describe('postgres: shared by many', () => {
  it('agrees on the first edit of a key by commit, not by row', async () => {
    const options = { url: server.url, schema: 'edits' }
    const [one, two] = [postgresStore(options), postgresStore(options)]
    await one.version('t', 's')
    for (let round = 0; round < 25; round++) {
      const key = `k${round}`
      const seen = await Promise.all(
        [one, two].map(async (store, i) => {
          await store.append('t', `s${i}`, [edit(key, `by ${i}`), edit(`other ${round} ${i}`)])
          return (await store.findEdits('t', [key]))[0]?.text
        }),
      )
      const settled = (await one.findEdits('t', [key]))[0]?.text
      expect(seen).toEqual([settled, settled])
    }
    await Promise.all([one.close(), two.close()])
  })

  it('makes its tables once when many start at once', async () => {
    const stores = Array.from({ length: 6 }, () => postgresStore({ url: server.url, schema: 'together' }))
    const reports = await Promise.all(stores.map((store) => store.migrate()))
    expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1)
    expect(new Set(reports.map(({ to }) => to)).size).toBe(1)
    await Promise.all(stores.map((store) => store.close()))
  })

  it.each([
    [
      'a flipped byte',
      "UPDATE records SET body = replace(body, 'text of i4', 'text of i9') WHERE version = 5",
      'unreadable',
    ],
    ['a torn record', 'UPDATE records SET body = left(body, 40) WHERE version = 5', 'unreadable'],
    ['a missing record', 'DELETE FROM records WHERE version = 5', 'gap'],
  ] as const)('reads on past %s, and verify finds it', async (name, sql, kind) => {
    const schema = name.replaceAll(' ', '_')
    const told: StoreProblem[] = []
    const store = postgresStore({ url: server.url, schema, onDamage: (problem) => told.push(problem) })
    await store.append(
      't',
      's',
      Array.from({ length: 10 }, (_, i) => item(`i${i}`)),
    )
    const raw = connectPostgres({ url: server.url, schema })
    await raw.query(sql)
    const versions = (await readAll(store, 't', 's')).map(({ version }) => version)
    expect(versions).toHaveLength(9)
    expect(told).toHaveLength(kind === 'unreadable' ? 1 : 0)
    expect((await store.check()).some((problem) => problem.kind === kind && problem.version === 5)).toBe(true)
    await Promise.all([store.close(), raw.close()])
  })
})

describe('postgres: live events', () => {
  it('are heard again after the server crashed, and never throw', async () => {
    const stores = [1, 2].map(() => postgresStore({ url: server.url, retryForMs: 200 }))
    const troubles: unknown[] = []
    const heard: string[] = []
    const mine = liveEvents(
      stores[0]!,
      () => undefined,
      (error) => troubles.push(error),
    )
    const theirs = liveEvents(stores[1]!, (seen) => seen.type === 'warning' && heard.push(seen.message))
    await server.crash()
    mine.publish(event('lost'))
    await until(async () => troubles.length > 0)
    await server.start()
    await until(async () => {
      mine.publish(event('again'))
      return heard.includes('again')
    })
    await Promise.all([mine.close(), theirs.close()])
    await Promise.all(stores.map((store) => store.close()))
  })
})

const event = (message: string): PlimsollEvent => ({
  type: 'warning',
  topic: 'test',
  message,
  at: 1,
  tenant: 't',
  session: 's',
})

/** Waits for something that another process does; the test's own time limit is the only clock. */
async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await new Promise((resolve) => setTimeout(resolve, 5))
}
