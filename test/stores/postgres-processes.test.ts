import { afterAll, beforeAll, it } from 'vitest'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import { crowdSize, testCrowd } from './support/crowd.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'

const SEED = 4142

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

it(`loses no update among processes on one Postgres (seed ${SEED})`, { timeout: 600_000 }, async () => {
  console.info(`postgres: ${await testCrowd(server.url, () => postgresStore({ url: server.url }), crowdSize(), SEED)}`)
})
