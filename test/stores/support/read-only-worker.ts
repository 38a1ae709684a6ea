import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'
import { openDatabase } from '../../../src/drivers/sessions/sqlite/database.ts'
import { item } from '../../../src/testing/session-store/records.ts'
import { told } from './told.ts'

/* Tries to write where it may not, and says what it was told. Root may write anywhere, so root becomes nobody first. */

const [path = '', warmUp = ''] = process.argv.slice(2)
openDatabase(warmUp).close()
if (process.getuid?.() === 0) {
  process.setgid?.(65_534)
  process.setuid?.(65_534)
}
const store = sqliteStore({ path })
try {
  await store.append('t', 's', [item('a')])
  console.info(JSON.stringify({ code: 'written' }))
} catch (error) {
  console.info(JSON.stringify(told(error)))
}
