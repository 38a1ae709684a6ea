import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    testTimeout: 240_000,
    // An agent leaves a large home behind, and other work may keep the disk busy.
    hookTimeout: 60_000,
    allowOnly: false,
    pool: 'forks',
    maxWorkers: 1,
  },
})
