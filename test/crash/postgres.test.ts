import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import { startPostgres, type PostgresServer } from '../stores/support/postgres-server.ts'
import { KILLS, SEED, killLoop } from './kill-loop.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

it(
  `Postgres has every acknowledged record after ${KILLS} kills (seed ${SEED})`,
  { timeout: 60_000 + KILLS * 10_000 },
  async () => {
    const damage: unknown[] = []
    const open = () => postgresStore({ url: server.url, onDamage: (problem) => damage.push(problem) })
    const result = await killLoop(server.url, open, KILLS, SEED)
    console.info(
      `postgres: ${result.kills} kills, ${result.acknowledged} acknowledged operations, ${result.records} records`,
    )
    expect(result.acknowledged).toBeGreaterThan(KILLS)
    expect(damage).toEqual([])
  },
)
