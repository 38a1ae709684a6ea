import { describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'
import { fairQueue } from '../../src/util/fair-queue.ts'

const ENDLESS = 'WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r'

/** Runs a tenant's endless work and another's short one after it; who was answered, in order. */
async function answered(endless: () => Promise<unknown>, short: () => Promise<unknown>): Promise<string[]> {
  const order: string[] = []
  const hogs = Array.from({ length: 3 }, async () => {
    await endless()
    order.push('endless')
  })
  await short()
  order.push('short')
  await Promise.all(hogs)
  return order
}

describe('the engines for SQL and JavaScript', () => {
  it("answer a tenant's query while another tenant's endless ones wait for each other", async () => {
    const engine = sqljsEngine()
    const ask = (owner: string, sql: string) =>
      engine.query({
        sql,
        owner,
        sources: [{ table: 't', bytes: Buffer.from('[{"a":1}]') }],
        timeoutMs: 500,
        maxRows: 9,
      })
    // The threads are there before the clock of any query runs.
    await Promise.all([ask('a', 'SELECT 1'), ask('b', 'SELECT 1')])
    const order = await answered(
      () => ask('a', ENDLESS),
      async () => expect(await ask('b', 'SELECT a FROM t')).toMatchObject({ ok: true, rows: [[1]] }),
    )
    expect(order).toEqual(['short', 'endless', 'endless', 'endless'])
    await engine.close()
  }, 60_000)

  it("run a tenant's code while another tenant's endless code waits for its turn", async () => {
    const sandbox = quickjsSandbox()
    const run = (owner: string, code: string) =>
      sandbox.run({ code, owner, inputs: {}, timeoutMs: 500, memoryBytes: 2 ** 26, maxOutputBytes: 1000 })
    await Promise.all([run('a', '1'), run('b', '1')])
    const order = await answered(
      () => run('a', 'for (;;) {}'),
      async () => expect(await run('b', '1 + 1')).toMatchObject({ ok: true, output: '2' }),
    )
    expect(order).toEqual(['short', 'endless', 'endless', 'endless'])
    await sandbox.close()
  }, 60_000)

  it('say that too many of one tenant wait, and run those of others', async () => {
    const engine = sqljsEngine()
    const ask = (owner: string, sql = 'SELECT 1') =>
      engine.query({ sql, owner, sources: [], timeoutMs: 500, maxRows: 9 })
    const many = Array.from({ length: 40 }, () => ask('a'))
    const other = ask('b')
    const results = await Promise.all(many)
    expect(results.filter(({ ok }) => ok)).toHaveLength(33)
    expect(results.at(-1)?.error).toContain('32 others of the same tenant wait already')
    expect(await other).toMatchObject({ ok: true })
    await engine.close()
  }, 60_000)
})

describe('a fair queue', () => {
  const refused = (reason: string): string => reason

  it('serves owners in turn, whatever one of them has waiting', async () => {
    const inTurn = fairQueue({ width: 1 })
    const order: string[] = []
    const task = (owner: string, name: string) =>
      inTurn(
        owner,
        async () => void order.push(name),
        () => undefined,
      )
    await Promise.all([
      task('a', 'a1'),
      task('a', 'a2'),
      task('a', 'a3'),
      task('b', 'b1'),
      task('c', 'c1'),
      task('b', 'b2'),
    ])
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
  })

  it('goes on after a task that failed', async () => {
    const inTurn = fairQueue({ width: 1 })
    const failed = inTurn('a', () => Promise.reject(new Error('no')), refused)
    const after = inTurn('a', async () => 'after', refused)
    await expect(failed).rejects.toThrow('no')
    expect(await after).toBe('after')
  })

  it('gives up a task that waited too long, and never runs it', async () => {
    const inTurn = fairQueue({ width: 1, waitMs: 1 })
    let release = (): void => undefined
    const first = inTurn('a', () => new Promise<string>((resolve) => (release = () => resolve('first'))), refused)
    let ran = false
    const second = inTurn('b', async () => String((ran = true)), refused)
    expect(await second).toBe('it waited 1 ms for its turn')
    release()
    expect(await first).toBe('first')
    expect(await inTurn('b', async () => 'third', refused)).toBe('third')
    expect(ran).toBe(false)
  })
})
