import { afterAll, expect, it } from 'vitest'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'

const engine = sqljsEngine()
afterAll(() => engine.close())

/** What a result takes in memory, by its texts. */
const charactersIn = (rows: readonly (readonly unknown[])[]): number =>
  rows.flat().reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0)

it.each([10, 100])('a query of %d wide columns gives what fits and says how much there is', async (columns) => {
  const records = Array.from({ length: 3_000 }, (_, id) => ({ id }))
  const wide = Array.from({ length: columns }, (_, i) => `printf('%.*c', 99999, 'a') AS c${i}`).join(', ')
  const { ok, rows, totalRows, error } = await engine.query({
    sql: `SELECT ${wide} FROM t LIMIT 2000`,
    sources: [{ table: 't', bytes: Buffer.from(JSON.stringify(records)) }],
    timeoutMs: 20_000,
    maxRows: 2_000,
  })
  // All of it would be two to twenty gigabytes.
  expect(charactersIn(rows)).toBeLessThan(32 * 2 ** 20)
  if (ok) expect(totalRows).toBe(2_000)
  else expect(error).not.toBe('')
})
