import { existsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'
import { sharedFolder } from './test/support/shared-data.ts'

/**
 * Rooms whose tests start nothing and change nothing outside themselves: they share a process, so that the library is loaded once and not with
 * every file. A test that sets environment variables, timers or globals belongs into the others.
 */
const SHARED = [
  'config',
  'core',
  'engine',
  'formats',
  'inspect',
  'instructions',
  'intake',
  'learning',
  'meter',
  'overflow',
  'pains',
  'readers',
  'recall',
  'referee',
  'rules',
  'sse',
  'transcripts',
].map((room) => `test/${room}/**/*.test.ts`)

/** Tests that have nothing to look at without the recorded data. The last lines of a run say so (`test/support/left-out.ts`). */
const RECORDED = existsSync(sharedFolder('')) ? [] : ['test/**/*.recorded.test.ts']

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A skipped test would let a missing service pass for a green run; test/no-skips.test.ts holds the same line for `.skip`.
    allowOnly: false,
    passWithNoTests: false,
    reporters: ['default', './test/support/left-out.ts'],
    pool: 'forks',
    // Both cores: the default leaves one to the main process, which mostly waits.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'own process',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/clients/**', ...SHARED, ...RECORDED],
        },
      },
      {
        extends: true,
        test: {
          name: 'shared process',
          include: SHARED,
          exclude: [...configDefaults.exclude, ...RECORDED],
          isolate: false,
        },
      },
    ],
  },
})
