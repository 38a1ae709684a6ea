import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/clients/**', 'node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A skipped test would let a missing service pass for a green run; test/no-skips.test.ts holds the same line for `.skip`.
    allowOnly: false,
    passWithNoTests: false,
    pool: 'forks',
    // Both cores: the default leaves one to the main process, which mostly waits.
    maxWorkers: 2,
  },
})
