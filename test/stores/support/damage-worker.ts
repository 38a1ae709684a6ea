import { readFile, rm, writeFile } from 'node:fs/promises'
import { isPlimsollError } from '../../../src/core/errors.ts'
import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'
import { verifyStore } from '../../../src/engine/store-admin/store-admin.ts'
import type { LogRecord } from '../../../src/core/records.ts'
import { item, readAll } from '../../../src/testing/session-store/records.ts'

/** Damages copies of a database, uses each as a session does, and says of each what could be read and what a check named. */
const [source = '', seedText = '1', count = '1'] = process.argv.slice(2)
const original = await readFile(source)
const PAGE = 4096

function random(start: number): () => number {
  let state = start
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** Headers of pages and ends of pages hold the structure; the rest holds texts. */
function damaged(seed: number): Buffer {
  const next = random(seed * 7919 + 13)
  const bytes = Buffer.from(original)
  for (let i = 0; i < 12; i++) {
    const page = Math.floor(next() * (bytes.length / PAGE)) * PAGE
    const where = [next() * 120, PAGE - 1 - next() * 400, next() * PAGE][i % 3]!
    const at = page + Math.floor(where)
    bytes[at]! ^= next() < 0.5 ? 1 << Math.floor(next() * 8) : 0xc0
  }
  return bytes
}

/** What is no error of ours would end a program that handles ours. */
async function settled<T>(doing: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (!isPlimsollError(error)) throw new Error(`${doing}: ${String(error)}`, { cause: error })
    return undefined
  }
}

for (let seed = Number(seedText); seed < Number(seedText) + Number(count); seed++) {
  const path = `${source}-${seed}`
  await writeFile(path, damaged(seed))
  const store = sqliteStore({ path, onDamage: () => undefined })
  const read: Record<string, readonly LogRecord[] | undefined> = {}
  for (const session of ['s1', 's2'])
    read[session] = await settled('read', async () => (await readAll(store, 't', session)).map(({ record }) => record))
  const report = await settled('verify', () => verifyStore(store))
  await settled('search', () => store.search('t', 'first words'))
  await settled('list', () => store.list('t'))
  await settled('append', () => store.append('t', 's3', [item('new', 'new')]))
  await settled('fork', () => store.fork('t', 's1', 's4'))
  await settled('remove', () => store.remove('t', 's2'))
  await settled('stats', () => store.stats())
  await settled('close', () => store.close())
  const lengths = Object.values(read).map((records) => records?.length)
  process.stdout.write(`${JSON.stringify({ seed, lengths, clean: report?.clean })}\n`)
  for (const end of ['', '-wal', '-shm']) await rm(path + end, { force: true })
}
