import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickjsSandbox } from '../../src/drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../src/drivers/sandbox/sqljs.ts'
import { aggregateData } from './aggregate-data.ts'
import { setup } from './setup.ts'

/** Twenty questions over four artifacts of 5 MB and more, each asked in SQL and in JavaScript, each against plain code here. */
const data = aggregateData()
const { calls, events, orders, log, texts } = data
const sql = sqljsEngine()
const sandbox = quickjsSandbox()
const { readers, put } = setup({ sql, sandbox, queryLimits: { timeoutMs: 60_000 }, runLimits: { timeoutMs: 60_000 } })
const handles = {} as Record<keyof typeof texts, string>

beforeAll(async () => {
  for (const name of Object.keys(texts) as (keyof typeof texts)[]) {
    expect(Buffer.byteLength(texts[name])).toBeGreaterThan(5_000_000)
    handles[name] = await put(texts[name])
  }
})
afterAll(async () => {
  await sql.close()
  await sandbox.close()
})

type Row = (string | number)[]
interface Question {
  readonly ask: string
  readonly of: readonly (keyof typeof texts)[]
  readonly sql: string
  readonly code: string
  readonly expected: Row[]
}

const count = <T>(items: readonly T[], keyOf: (item: T) => string | number): Map<string | number, number> => {
  const counts = new Map<string | number, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const cents = (value: number): number => Math.round(value * 100) / 100
const percentile = (values: readonly number[], percent: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (percent / 100) * (sorted.length - 1)
  const low = sorted[Math.floor(place)] ?? 0
  return low + ((sorted[Math.ceil(place)] ?? low) - low) * (place - Math.floor(place))
}
const top = (counts: Map<string | number, number>, k: number): Row[] =>
  [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, k)

function longestRun(): number {
  let best = 0
  let run = 0
  for (const { status } of calls) {
    run = status < 400 ? run + 1 : 0
    best = Math.max(best, run)
  }
  return best
}

/** The same helpers for the guest. */
const GUEST = `
const cents = (v) => Math.round(v * 100) / 100
const count = (items, keyOf) => { const m = new Map(); for (const i of items) { const k = keyOf(i); m.set(k, (m.get(k) ?? 0) + 1) } return m }
const top = (m, k) => [...m].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, k)
const percentile = (vs, p) => { const s = [...vs].sort((a, b) => a - b), at = p / 100 * (s.length - 1), l = s[Math.floor(at)]; return l + (s[Math.ceil(at)] - l) * (at - Math.floor(at)) }
const logs = () => artifacts[0].lines.map((line) => { const m = /^\\S+ (\\w+) \\S+ shard=(\\d+) .*took=(\\d+)ms$/.exec(line); return { level: m[1], shard: +m[2], took: +m[3] } })
`
const TOOK = "CAST(regexp_extract(text, 'took=(\\d+)ms', 1) AS INTEGER)"

const questions: Question[] = [
  {
    ask: 'how many calls failed',
    of: ['calls'],
    sql: 'SELECT count(*) FROM t WHERE status >= 500',
    code: '[[data.filter((c) => c.status >= 500).length]]',
    expected: [[calls.filter((c) => c.status >= 500).length]],
  },
  {
    ask: 'calls per service',
    of: ['calls'],
    sql: 'SELECT service, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC, 1',
    code: 'top(count(data, (c) => c.service), 10)',
    expected: top(
      count(calls, (c) => c.service),
      10,
    ),
  },
  {
    ask: 'p50, p95 and p99 of the latency',
    of: ['calls'],
    sql: 'SELECT percentile(ms, 50), percentile(ms, 95), percentile(ms, 99) FROM t',
    code: '[[50, 95, 99].map((p) => percentile(data.map((c) => c.ms), p))]',
    expected: [
      [50, 95, 99].map((p) =>
        percentile(
          calls.map((c) => c.ms),
          p,
        ),
      ),
    ],
  },
  {
    ask: 'p99 of failed searches',
    of: ['calls'],
    sql: "SELECT percentile(ms, 99) FROM t WHERE service = 'search' AND status >= 400",
    code: "[[percentile(data.filter((c) => c.service === 'search' && c.status >= 400).map((c) => c.ms), 99)]]",
    expected: [
      [
        percentile(
          calls.filter((c) => c.service === 'search' && c.status >= 400).map((c) => c.ms),
          99,
        ),
      ],
    ],
  },
  {
    ask: 'the five slowest calls',
    of: ['calls'],
    sql: 'SELECT id, ms FROM t ORDER BY ms DESC, id LIMIT 5',
    code: 'data.sort((a, b) => b.ms - a.ms || a.id - b.id).slice(0, 5).map((c) => [c.id, c.ms])',
    expected: [...calls]
      .sort((a, b) => b.ms - a.ms || a.id - b.id)
      .slice(0, 5)
      .map((c) => [c.id, c.ms]),
  },
  {
    ask: 'users with the most errors',
    of: ['calls'],
    sql: 'SELECT user, count(*) FROM t WHERE status >= 500 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3',
    code: 'top(count(data.filter((c) => c.status >= 500), (c) => c.user), 3)',
    expected: top(
      count(
        calls.filter((c) => c.status >= 500),
        (c) => c.user,
      ),
      3,
    ),
  },
  {
    ask: 'the hour with the most calls over 4 s',
    of: ['calls'],
    sql: 'SELECT substr(at, 1, 13), count(*) FROM t WHERE ms > 4000 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1',
    code: 'top(count(data.filter((c) => c.ms > 4000), (c) => c.at.slice(0, 13)), 1)',
    expected: top(
      count(
        calls.filter((c) => c.ms > 4000),
        (c) => c.at.slice(0, 13),
      ),
      1,
    ),
  },
  {
    ask: 'distinct users',
    of: ['calls'],
    sql: 'SELECT count(DISTINCT user) FROM t',
    code: '[[new Set(data.map((c) => c.user)).size]]',
    expected: [[new Set(calls.map((c) => c.user)).size]],
  },
  {
    ask: 'longest run of calls without an error',
    of: ['calls'],
    sql: 'WITH marked AS (SELECT status, sum(status >= 400) OVER (ORDER BY id) AS run FROM t) SELECT max(n) FROM (SELECT sum(status < 400) AS n FROM marked GROUP BY run)',
    code: 'let best = 0, run = 0; for (const c of data) { run = c.status < 400 ? run + 1 : 0; best = Math.max(best, run) } [[best]]',
    expected: [[longestRun()]],
  },
  {
    ask: 'events per kind',
    of: ['events'],
    sql: 'SELECT kind, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC, 1',
    code: 'top(count(data, (e) => e.kind), 9)',
    expected: top(
      count(events, (e) => e.kind),
      9,
    ),
  },
  {
    ask: 'events north of the equator per country',
    of: ['events'],
    sql: "SELECT geo->>'country', count(*) FROM t WHERE geo->>'lat' > 0 GROUP BY 1 ORDER BY 2 DESC, 1",
    code: 'top(count(data.filter((e) => e.geo.lat > 0), (e) => e.geo.country), 9)',
    expected: top(
      count(
        events.filter((e) => e.geo.lat > 0),
        (e) => e.geo.country,
      ),
      9,
    ),
  },
  {
    ask: 'how often each tag',
    of: ['events'],
    sql: 'SELECT value, count(*) FROM t, json_each(t.tags) GROUP BY 1 ORDER BY 2 DESC, 1',
    code: 'top(count(data.flatMap((e) => e.tags), (tag) => tag), 9)',
    expected: top(
      count(
        events.flatMap((e) => [...e.tags]),
        (tag) => tag,
      ),
      9,
    ),
  },
  {
    ask: 'revenue per currency',
    of: ['orders'],
    sql: 'SELECT currency, round(sum(amount), 2) FROM t GROUP BY 1 ORDER BY 1',
    code: "const os = csv(artifacts[0].text); ['EUR', 'GBP', 'USD'].map((c) => [c, cents(os.filter((o) => o.currency === c).reduce((s, o) => s + Number(o.amount), 0))])",
    expected: ['EUR', 'GBP', 'USD'].map((c) => [
      c,
      cents(sum(orders.filter((o) => o.currency === c).map((o) => o.amount))),
    ]),
  },
  {
    ask: 'median order of EUR',
    of: ['orders'],
    sql: "SELECT percentile(amount, 50) FROM t WHERE currency = 'EUR'",
    code: "[[percentile(csv(artifacts[0].text).filter((o) => o.currency === 'EUR').map((o) => Number(o.amount)), 50)]]",
    expected: [
      [
        percentile(
          orders.filter((o) => o.currency === 'EUR').map((o) => o.amount),
          50,
        ),
      ],
    ],
  },
  {
    ask: 'fragile orders above 990',
    of: ['orders'],
    sql: "SELECT count(*) FROM t WHERE note LIKE 'fragile, %' AND amount > 990",
    code: "[[csv(artifacts[0].text).filter((o) => o.note.startsWith('fragile, ') && o.amount > 990).length]]",
    expected: [[orders.filter((o) => o.note.startsWith('fragile, ') && o.amount > 990).length]],
  },
  {
    ask: 'third largest order of each currency',
    of: ['orders'],
    sql: 'SELECT currency, "order" FROM (SELECT *, row_number() OVER (PARTITION BY currency ORDER BY amount DESC, "order") AS place FROM t) WHERE place = 3 ORDER BY 1',
    code: "const os = csv(artifacts[0].text); ['EUR', 'GBP', 'USD'].map((c) => [c, Number(os.filter((o) => o.currency === c).sort((a, b) => b.amount - a.amount || a.order - b.order)[2].order)])",
    expected: ['EUR', 'GBP', 'USD'].map((c) => [
      c,
      orders.filter((o) => o.currency === c).sort((a, b) => b.amount - a.amount || a.order - b.order)[2]?.order ?? -1,
    ]),
  },
  {
    ask: 'lines per level',
    of: ['log'],
    sql: 'SELECT level, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC, 1',
    code: 'top(count(logs(), (l) => l.level), 9)',
    expected: top(
      count(log, (l) => l.level),
      9,
    ),
  },
  {
    ask: 'shards with the slowest p95',
    of: ['log'],
    sql: `SELECT CAST(regexp_extract(text, 'shard=(\\d+)', 1) AS INTEGER) AS shard, percentile(${TOOK}, 95) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3`,
    code: 'const by = new Map(); for (const l of logs()) { if (!by.has(l.shard)) by.set(l.shard, []); by.get(l.shard).push(l.took) } top(new Map([...by].map(([s, v]) => [s, percentile(v, 95)])), 3)',
    expected: top(
      new Map(
        [...new Set(log.map((l) => l.shard))].map((shard) => [
          shard,
          percentile(
            log.filter((l) => l.shard === shard).map((l) => l.took),
            95,
          ),
        ]),
      ),
      3,
    ),
  },
  {
    ask: 'spend of the users with the most failed calls',
    of: ['calls', 'orders'],
    sql: 'WITH worst AS (SELECT user, count(*) AS n FROM t WHERE status >= 500 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3) SELECT worst.user, round(sum(amount), 2) FROM worst JOIN t2 USING (user) GROUP BY 1 ORDER BY n DESC, 1',
    code: 'const worst = top(count(data.filter((c) => c.status >= 500), (c) => c.user), 3).map(([u]) => u); const os = csv(artifacts[1].text); worst.map((u) => [u, cents(os.filter((o) => o.user === u).reduce((s, o) => s + Number(o.amount), 0))])',
    expected: top(
      count(
        calls.filter((c) => c.status >= 500),
        (c) => c.user,
      ),
      3,
    ).map(([user = '']) => [user, cents(sum(orders.filter((o) => o.user === user).map((o) => o.amount)))]),
  },
  {
    ask: 'users who ordered but never called',
    of: ['calls', 'orders'],
    sql: 'SELECT count(DISTINCT user) FROM t2 WHERE user NOT IN (SELECT user FROM t)',
    code: 'const called = new Set(data.map((c) => c.user)); [[new Set(csv(artifacts[1].text).map((o) => o.user).filter((u) => !called.has(u))).size]]',
    expected: [[new Set(orders.map((o) => o.user).filter((user) => !calls.some((c) => c.user === user))).size]],
  },
]

const parsed = (text: string): Row[] =>
  text
    .slice(0, text.lastIndexOf('\n[from art_'))
    .split('\n')
    .slice(1)
    .map((line) => line.split(',').map((cell) => (/^-?[\d.]+$/.test(cell) ? Number(cell) : cell)))

describe('twenty aggregate questions over 5 MB', { timeout: 180_000 }, () => {
  it('are twenty', () => {
    expect(questions).toHaveLength(20)
  })

  for (const { ask, of, sql: statement, code, expected } of questions) {
    const named = (): { handle: string; also: string[] } => {
      const [handle = '', ...also] = of.map((name) => handles[name])
      return { handle, also }
    }
    it(`${ask}: by query`, async () => {
      const { ok, text } = await readers.query({ ...named(), sql: statement })
      expect(ok, text).toBe(true)
      expect(parsed(text)).toEqual(expected)
      expect(Buffer.byteLength(text)).toBeLessThan(1024)
    })
    it(`${ask}: by run`, async () => {
      const { ok, text } = await readers.run({ ...named(), code: `${GUEST};${code}` })
      expect(ok, text).toBe(true)
      expect(JSON.parse(text.slice(0, text.lastIndexOf('\n[from art_')))).toEqual(expected)
      expect(Buffer.byteLength(text)).toBeLessThan(1024)
    })
  }
})
