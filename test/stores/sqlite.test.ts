import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { subjectOf, testSessionStore } from './run-suite.ts'

testSessionStore('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plimsoll-'))
  return subjectOf(
    (options) => sqliteStore({ ...options, path: join(folder, 'store.db') }),
    () => rm(folder, { recursive: true, force: true }),
  )
})
