import { join } from 'node:path'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { subjectOf, testSessionStore } from './run-suite.ts'
import { temporaryFolder } from './support/temporary.ts'

testSessionStore('sqlite', async () => {
  const { folder, remove } = await temporaryFolder()
  return subjectOf((options) => sqliteStore({ ...options, path: join(folder, 'store.db') }), remove)
})
