import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'vitest'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { crowdSize, testCrowd } from './support/crowd.ts'

const SEED = 4141

it(`loses no update among processes that write one SQLite file (seed ${SEED})`, { timeout: 600_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plimsoll-crowd-'))
  const path = join(folder, 'store.db')
  try {
    console.info(`sqlite: ${await testCrowd(`sqlite:${path}`, () => sqliteStore({ path }), crowdSize(), SEED)}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
