import { afterAll, beforeAll } from 'vitest'
import { postgresStore } from '../../src/drivers/sessions/postgres/index.ts'
import { subjectOf, testSessionStore } from './run-suite.ts'
import { startPostgres, type PostgresServer } from './support/postgres-server.ts'

let server: PostgresServer
let count = 0
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

testSessionStore('postgres', () => {
  const schema = `case_${count++}`
  return subjectOf((options) => postgresStore({ ...options, url: server.url, schema, poolSize: 4 }))
})
