import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import type { RecallAnswer } from '../../src/engine/readers/recall.ts'
import { createPlimsoll } from '../../src/index.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'
import { seeded } from './support/random.ts'
import { temporaryFolder } from './support/temporary.ts'

const seal = aesSeal(Buffer.alloc(32, 7))
let server: PostgresServer
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  server = await startPostgres()
  folder = await temporaryFolder()
})
afterAll(async () => {
  await server.stop()
  await folder.remove()
})

const STORES: Readonly<Record<string, () => SessionStore>> = {
  memory: () => memoryStore(),
  SQLite: () => sqliteStore({ path: join(folder.folder, 'plain.db') }),
  'SQLite, encrypted': () => sqliteStore({ path: join(folder.folder, 'sealed.db'), seal }),
  Postgres: () => postgresStore({ url: server.url, schema: 'plain' }),
  'Postgres, encrypted': () => postgresStore({ url: server.url, schema: 'sealed', seal }),
}

const SEED = 4242
const { below } = seeded(SEED)
const pick = <T>(of: readonly T[]): T => of[below(of.length)]!
const THINGS = ['harbour', 'lighthouse', 'ferry', 'pilot', 'anchor', 'buoy', 'crane', 'tugboat', 'lock', 'quay']
const DOINGS = ['was repaired', 'opens late', 'has been sold', 'needs paint', 'was inspected', 'costs too much']
const PEOPLE = ['Olsen', 'Brandt', 'Moreau', 'Rossi', 'Novak']
const sentence = (): string =>
  `The ${pick(THINGS)} of ${pick(PEOPLE)} ${pick(DOINGS)}, and the ${pick(THINGS)} ${pick(DOINGS)}.`
const words = (): string => `${pick(PEOPLE)} ${pick(THINGS)} ${pick(DOINGS)}`
const QUERIES = [
  ...Array.from({ length: 12 }, words),
  'file:crane.ts limit',
  'tool:read tugboat',
  'role:user ferry',
  '"was inspected" lock',
]

/** Talk, with calls of tools in it, and some messages that come again. */
function history(): { role: string; content: string | null; [key: string]: unknown }[] {
  return Array.from({ length: 60 }, (_, i) => {
    if (i % 10 === 7) {
      const path = `src/${pick(THINGS)}.ts`
      const call = { name: 'read', arguments: JSON.stringify({ path }) }
      return [
        { role: 'assistant', content: null, tool_calls: [{ id: `call_${i}`, type: 'function', function: call }] },
        { role: 'tool', tool_call_id: `call_${i}`, content: `export const limit = ${i}\n// ${sentence()}` },
      ]
    }
    if (i % 2 === 0) return [{ role: 'user', content: `${sentence()}\n\n${sentence()}` }]
    return [{ role: 'assistant', content: i % 6 === 1 ? 'Noted.' : sentence() }]
  }).flat()
}

const messages = [...history(), { role: 'user', content: 'Go on.' }]

/** Names are longer in a search of a whole tenant: what fits must not decide. */
const ROOM = 50_000

const firstFive = (items: RecallAnswer['items']) => items.slice(0, 5).map(({ excerpt }) => excerpt)

describe(`the first five of a search, seed ${SEED}`, () => {
  it.each(Object.keys(STORES))('are those of `recall` in the request: %s', async (name) => {
    const store = STORES[name]!()
    const open = () => createPlimsoll({ store, artifacts: 'memory:', telemetry: false, secret: Buffer.alloc(32, 3) })
    const [working, reading] = [open(), open()]
    const session = working.session({ id: 'run' })
    for (const end of [20, 45, messages.length]) {
      const turn = await session.prepare({
        format: 'openai-chat',
        body: { model: 'gpt-4o', messages: messages.slice(0, end) },
        targets: [{ model: 'gpt-4o', window: 64_000 }],
      })
      await session.record({ turn: turn.id, usage: { input: 9, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 } })
    }
    const ofSession = reading.archive.readers({ session: 'run' })
    const ofTenant = reading.archive.readers()
    for (const query of QUERIES) {
      const here = firstFive((await session.recall(query, { maxCharacters: ROOM })).items)
      expect(here.length, query).toBeGreaterThan(0)
      for (const archived of [ofSession, ofTenant]) {
        const there = (await archived.call({ name: 'recall', input: { query, max_characters: ROOM } })) as RecallAnswer
        expect(firstFive(there.items), query).toEqual(here)
      }
    }
    await working.close()
  })
})
