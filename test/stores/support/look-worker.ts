import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'

/* Opens a store that others write to, looks into it and closes it. */

const store = sqliteStore({ path: process.argv[2] ?? '' })
await store.stats()
await store.close()
