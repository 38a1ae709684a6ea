import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'
import { item } from '../../../src/testing/session-store/records.ts'
import { told } from './told.ts'

/* Appends under a file-size limit until the store refuses, then says what was acknowledged and what the error was. */

const store = sqliteStore({ path: process.argv[2] ?? '' })
let version = 0
try {
  for (let i = 0; i < 10_000; i++) version = await store.append('t', 's', [item(`i${i}`, `${i} ${'x'.repeat(2000)}`)])
} catch (error) {
  console.info(JSON.stringify({ version, ...told(error) }))
}
