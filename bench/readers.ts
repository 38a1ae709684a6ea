import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fileArtifacts } from '../src/drivers/artifacts/file.ts'
import { quickjsSandbox } from '../src/drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../src/drivers/sandbox/sqljs.ts'
import { artifactReaders } from '../src/engine/readers/artifact-readers.ts'
import { readerProvenance } from '../src/engine/readers/reader.ts'

export interface Measure {
  readonly name: string
  /** Wall time of the fastest of three runs. */
  readonly ms: number
  readonly megabytes?: number
}

const MB = 1e6

const logLine = (i: number): string =>
  `2026-01-02T03:04:${String(i % 60).padStart(2, '0')}Z ${i % 50 === 0 ? 'ERROR' : 'INFO '} [worker-${i % 8}] request ${i} handled in ${(i * 7919) % 9000}ms`

const record = (i: number): object => ({
  id: i,
  service: `svc-${i % 17}`,
  status: i % 7 === 0 ? 500 : 200,
  ms: (i * 7919) % 9000,
  user: `user-${i % 999}`,
})

function jsonLine(bytes: number): string {
  const one = JSON.stringify(record(123_456)).length + 1
  return JSON.stringify(Array.from({ length: Math.ceil(bytes / one) }, (_, i) => record(i + 100_000)))
}

/** How fast artifacts are stored and read back, at 1, 5 and 100 MB. */
export async function benchReaders(report: (measure: Measure) => void): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'plimsoll-bench-'))
  const secret = randomBytes(32)
  const store = fileArtifacts({ directory, secret })
  const sql = sqljsEngine()
  const sandbox = quickjsSandbox()
  const readers = artifactReaders({
    store,
    tenant: 'bench',
    provenance: readerProvenance(secret),
    sql,
    sandbox,
    timeoutMs: 120_000,
    runLimits: { timeoutMs: 60_000, memoryBytes: 2 ** 30 },
  })
  const put = async (text: string): Promise<string> =>
    (await store.put('bench', Buffer.from(text), { tool: 'bench' })).handle

  async function time(name: string, bytes: number | undefined, task: () => Promise<unknown>, runs = 3): Promise<void> {
    let best = Infinity
    for (let run = 0; run < runs; run++) {
      const start = performance.now()
      await task()
      best = Math.min(best, performance.now() - start)
    }
    report({ name, ms: best, ...(bytes === undefined ? {} : { megabytes: bytes / MB }) })
  }

  try {
    let salt = 0
    for (const size of [MB, 100 * MB]) {
      const bytes = Buffer.alloc(size, 'x')
      await time(`put ${size / MB} MB, durable`, size, async () => {
        bytes.writeUInt32LE(++salt, 0)
        return store.put('bench', bytes)
      })
    }
    const small = await put(jsonLine(MB))
    const medium = await put(jsonLine(5 * MB))
    const log = await put(Array.from({ length: 1_200_000 }, (_, i) => logLine(i)).join('\n'))
    const line = await put(jsonLine(100 * MB))
    const logBytes = (await store.stat('bench', log))?.bytes ?? 0
    const lineBytes = (await store.stat('bench', line))?.bytes ?? 0

    await time(
      'read 100 lines at the end of 1.2 M lines, first time',
      logBytes,
      async () => readers.read({ handle: log, start: -100 }),
      1,
    )
    await time('the same again', undefined, async () => readers.read({ handle: log, start: -100 }))
    await time(
      'read items 1,000,000-1,000,010 of one line of 100 MB',
      lineBytes,
      async () => readers.read({ handle: line, unit: 'items', start: 1_000_000, count: 10 }),
      1,
    )
    await time(
      'grep 1.2 M lines, plain text',
      logBytes,
      async () => readers.grep({ handle: log, pattern: 'request 999999 ' }),
      1,
    )
    await time(
      'grep 1.2 M lines, expression',
      logBytes,
      async () => readers.grep({ handle: log, pattern: 'ERROR .*handled in 8\\d{3}ms$' }),
      1,
    )
    await time(
      'grep 1.2 M lines, ignoring case',
      logBytes,
      async () => readers.grep({ handle: log, pattern: 'error.*request 77', ignoreCase: true }),
      1,
    )
    await time(
      'grep one line of 100 MB',
      lineBytes,
      async () => readers.grep({ handle: line, pattern: '"user-99[0-9]"' }),
      1,
    )

    await sql.query({ sql: 'SELECT 1', sources: [], timeoutMs: 1000, maxRows: 1 })
    const question = 'SELECT service, count(*), percentile(ms, 99) FROM t WHERE status = 500 GROUP BY 1'
    await time(
      'query 1 MB of one-line JSON, first time',
      MB,
      async () => readers.query({ handle: small, sql: question }),
      1,
    )
    await time('the same again', undefined, async () => readers.query({ handle: small, sql: question }))
    await time(
      'query 5 MB of one-line JSON, first time',
      5 * MB,
      async () => readers.query({ handle: medium, sql: question }),
      1,
    )
    const code =
      'const n = {}; for (const r of data) if (r.status === 500) n[r.service] = (n[r.service] ?? 0) + r.ms; n'
    await sandbox.run({ code: '1', inputs: {}, timeoutMs: 1000, memoryBytes: MB * 32, maxOutputBytes: 100 })
    await time('run code over 1 MB of one-line JSON', MB, async () => readers.run({ handle: small, code }))
    await time('run code over 5 MB of one-line JSON', 5 * MB, async () => readers.run({ handle: medium, code }))
  } finally {
    await sql.close()
    await sandbox.close()
    await store.close()
    await rm(directory, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await benchReaders(({ name, ms, megabytes }) => {
    const rate = megabytes === undefined ? '' : `${(megabytes / (ms / 1000)).toFixed(0)} MB/s`
    console.info(`${name.padEnd(60)} ${ms.toFixed(1).padStart(9)} ms  ${rate}`)
  })
  console.info(`peak resident memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB`)
}
