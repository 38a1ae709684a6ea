import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { KILLS, SEED, killLoop } from './kill-loop.ts'

it(
  `SQLite has every acknowledged record after ${KILLS} kills (seed ${SEED})`,
  { timeout: 60_000 + KILLS * 10_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plimsoll-crash-'))
    const path = join(folder, 'store.db')
    const damage: unknown[] = []
    try {
      const result = await killLoop(
        `sqlite:${path}`,
        () => sqliteStore({ path, onDamage: (problem) => damage.push(problem) }),
        KILLS,
        SEED,
      )
      console.info(
        `sqlite: ${result.kills} kills, ${result.acknowledged} acknowledged operations, ${result.records} records`,
      )
      expect(result.acknowledged).toBeGreaterThan(KILLS)
      expect(damage).toEqual([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
)
