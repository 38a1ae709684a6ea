import { afterAll, describe, expect, it } from 'vitest'
import { recordsOf } from '../../src/drivers/sandbox/records.ts'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'
import type { SqlResult } from '../../src/ports/sql-engine.ts'

const engine = sqljsEngine({ memoryBytes: 32 * 2 ** 20 })
afterAll(async () => engine.close())

async function query(
  sql: string,
  tables: Record<string, string> = {},
  limits: { maxRows?: number; timeoutMs?: number } = {},
): Promise<SqlResult> {
  const { maxRows = 100, timeoutMs = 5000 } = limits
  const sources = Object.entries(tables).map(([table, text]) => ({
    table,
    bytes: Buffer.from(text),
  }))
  return engine.query({ sql, sources, timeoutMs, maxRows })
}

const people = JSON.stringify([
  { name: 'ada', age: 36, tags: ['x'], home: { city: 'London' } },
  { name: 'bob', age: 41, admin: true },
  { name: 'cy', age: null },
])

describe('SQL over records', () => {
  it('reads a JSON array, nested values as JSON', async () => {
    const result = await query("SELECT name, age + 1 AS next, home->>'city' AS city, admin FROM t ORDER BY name", {
      t: people,
    })
    expect(result).toMatchObject({
      ok: true,
      columns: ['name', 'next', 'city', 'admin'],
      rows: [
        ['ada', 37, 'London', null],
        ['bob', 42, null, 1],
        ['cy', null, null, null],
      ],
      totalRows: 3,
    })
    expect(result.tables).toEqual([
      {
        table: 't',
        format: 'json',
        rows: 3,
        columns: [
          { name: 'name', type: 'text' },
          { name: 'age', type: 'number' },
          { name: 'tags', type: 'json' },
          { name: 'home', type: 'json' },
          { name: 'admin', type: 'number' },
        ],
      },
    ])
  })

  it('joins two artifacts and has window functions', async () => {
    const orders = 'name,amount\nada,10\nada,5.5\nbob,7\n'
    const joined = await query(
      'SELECT p.name, sum(amount) FROM people p JOIN orders o USING (name) GROUP BY 1 ORDER BY 2 DESC',
      { people, orders },
    )
    expect(joined.rows).toEqual([
      ['ada', 15.5],
      ['bob', 7],
    ])
    const ranked = await query(
      'SELECT name, amount, rank() OVER (PARTITION BY name ORDER BY amount) FROM orders ORDER BY 1, 3',
      { orders },
    )
    expect(ranked.rows).toEqual([
      ['ada', 5.5, 1],
      ['ada', 10, 2],
      ['bob', 7, 1],
    ])
  })

  it('has percentiles, deviation, logarithms and linear-time expressions', async () => {
    const values = JSON.stringify(Array.from({ length: 101 }, (_, i) => ({ v: i })))
    const { rows, error } = await query(
      "SELECT percentile(v, 50), percentile(v, 99), percentile(v, 2.5), median(v), round(stddev(v), 3), round(ln(exp(1)), 6), sum(v REGEXP '^1.$'), regexp_extract('ms=42 x', 'ms=(\\d+)', 1), regexp_extract('ms=42', '\\d') FROM t",
      { t: values },
    )
    expect(error).toBeUndefined()
    expect(rows).toEqual([[50, 99, 2.5, 50, 29.3, 1, 10, '42', '4']])
    expect((await query('SELECT percentile(v, 50), stddev(v) FROM t WHERE v > 1000', { t: values })).rows).toEqual([
      [null, null],
    ])
  })

  it('counts rows beyond those it gives', async () => {
    const result = await query(
      'SELECT * FROM t',
      { t: JSON.stringify(Array.from({ length: 500 }, (_, v) => ({ v }))) },
      { maxRows: 3 },
    )
    expect(result).toMatchObject({ rows: [[0], [1], [2]], totalRows: 500 })
  })

  it('names the columns of an empty result', async () => {
    expect(await query('SELECT name FROM t WHERE 0', { t: people })).toMatchObject({
      ok: true,
      columns: ['name'],
      rows: [],
      totalRows: 0,
    })
  })

  it('explains faults of the query', async () => {
    expect(await query('SELECT absent FROM t', { t: people })).toMatchObject({
      ok: false,
      error: 'no such column: absent',
      tables: [{ table: 't' }],
    })
    expect((await query('SELEC 1')).error).toContain('Only one SELECT')
    expect((await query("SELECT 'a' REGEXP '('")).error).toMatch(/missing closing/)
  })
})

describe('SQL that would rather do something else', () => {
  const attempts: Record<string, RegExp> = {
    "ATTACH DATABASE '/etc/passwd' AS p": /Only one SELECT/,
    "ATTACH ':memory:' AS p": /Only one SELECT/,
    'PRAGMA query_only = OFF': /Only one SELECT/,
    'PRAGMA hard_heap_limit = 0': /Only one SELECT/,
    "VACUUM INTO '/tmp/out'": /Only one SELECT/,
    'DELETE FROM t': /Only one SELECT/,
    'WITH x AS (SELECT 1) DELETE FROM t': /cannot be changed/,
    'WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM t': /cannot be changed/,
    'EXPLAIN SELECT 1; DELETE FROM t': /one statement/,
    'SELECT 1; SELECT 2': /one statement/,
    '/* x */ -- y\n DROP TABLE t': /Only one SELECT/,
    "SELECT load_extension('x')": /no such function/,
    "SELECT readfile('/etc/passwd')": /no such function/,
    "SELECT writefile('/tmp/out', 'x')": /no such function/,
    "SELECT fts3_tokenizer('x', x'00')": /disabled|not authorized|no such|unknown|error/i,
    '': /Only one SELECT/,
    ';;;': /Only one SELECT/,
  }
  for (const [sql, reason] of Object.entries(attempts)) {
    it(`refuses ${sql.slice(0, 60) || 'nothing'}`, async () => {
      const result = await query(sql, { t: people })
      expect(result.ok).toBe(false)
      expect(result.error).toMatch(reason)
      expect((await query('SELECT count(*) FROM t', { t: people })).rows).toEqual([[3]])
    })
  }

  const bombs: Record<string, RegExp> = {
    'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c': /ran longer than 300 ms/,
    "WITH RECURSIVE c(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM c) SELECT max(length(x)) FROM c":
      /needed more than 32 MiB|too big/,
    'SELECT length(randomblob(900000000))': /needed more than 32 MiB|too big/,
    "SELECT length(replace(hex(zeroblob(10000000)), '0', 'abcdefgh'))": /needed more than 32 MiB|too big/,
    'SELECT count(DISTINCT x) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000000) SELECT randomblob(100) AS x FROM c)':
      /needed more than 32 MiB|ran longer/,
    "SELECT group_concat(x, '') FROM (WITH RECURSIVE c(x) AS (SELECT hex(zeroblob(5000)) UNION ALL SELECT x FROM c LIMIT 100000) SELECT x FROM c)":
      /needed more than 32 MiB|too big/,
    "SELECT printf('%999999999d', 1)": /needed more than 32 MiB|too big/,
  }
  for (const [sql, reason] of Object.entries(bombs)) {
    it(`stops ${sql.slice(0, 70)}`, async () => {
      const before = process.memoryUsage().rss
      const { ok, error } = await query(sql, {}, { timeoutMs: 300 })
      expect(ok).toBe(false)
      expect(error).toMatch(reason)
      expect(process.memoryUsage().rss - before).toBeLessThan(400 * 2 ** 20)
      expect((await query('SELECT 1')).rows).toEqual([[1]])
    })
  }
})

describe('records', () => {
  it('finds the records inside an envelope', () => {
    const { path, rows, columns } = recordsOf(
      JSON.stringify({ status: 'ok', errors: [], data: { page: 1, items: [{ a: 1 }, { b: 2 }] }, few: [{ z: 1 }] }),
    )
    expect({ path, rows, columns }).toEqual({ path: 'data.items', rows: [[1], [undefined, 2]], columns: ['a', 'b'] })
    expect(recordsOf('{"a":{"b":[[1,2],[3]]}}', ['a', 'b'])).toMatchObject({
      columns: ['c0', 'c1'],
      rows: [[1, 2], [3]],
    })
    expect(recordsOf('{"one":1,"two":[1]}')).toMatchObject({ columns: ['one', 'two'], rows: [[1, '[1]']] })
    expect(recordsOf('[1,"x",null]')).toMatchObject({ columns: ['value'], rows: [[1], ['x'], [null]] })
  })

  it('reads JSON lines with a broken one among them', () => {
    const text = Array.from({ length: 20 }, (_, i) => (i === 3 ? '{broken' : `{"i":${i}}`)).join('\n')
    const { format, rows, columns } = recordsOf(text)
    expect(format).toBe('ndjson')
    expect(columns).toEqual(['i', '_unparsed'])
    expect(rows[3]?.[1]).toBe('{broken')
  })

  it('reads CSV with quotes, line breaks and types', () => {
    const text = 'id,name,"zip code",amount,amount\r\n1,"a ""b"", c",01234,1.5,\r\n2,"two\nlines",99999,-3e2,4\r\n'
    expect(recordsOf(text)).toMatchObject({
      format: 'csv',
      columns: ['id', 'name', 'zip code', 'amount', 'amount_'],
      rows: [
        [1, 'a "b", c', '01234', 1.5, null],
        [2, 'two\nlines', '99999', -300, 4],
      ],
    })
    expect(recordsOf('a\tb\n1\t2\n').format).toBe('tsv')
    expect(recordsOf('a;b;c\n1;2;3\n').columns).toEqual(['a', 'b', 'c'])
  })

  it('takes any other text as lines, with time and level where they show', () => {
    const log =
      '2026-01-02T03:04:05.678Z ERROR [db] failed, retry\n[2026-01-02 03:04:06] warn: slow\nplain\nJan  2 03:04:07 host sshd: error: x\n'
    const { format, rows } = recordsOf(log)
    expect(format).toBe('lines')
    expect(rows.map(([line, time, level]) => [line, time, level])).toEqual([
      [1, '2026-01-02T03:04:05.678Z', 'ERROR'],
      [2, '2026-01-02 03:04:06', 'WARN'],
      [3, null, null],
      [4, 'Jan  2 03:04:07', 'ERROR'],
    ])
    expect(recordsOf('2026-01-02 03:04:05,678 INFO a\n2026-01-02 03:04:06,789 INFO b\n').format).toBe('lines')
    expect(recordsOf('').rows).toEqual([])
  })
})
