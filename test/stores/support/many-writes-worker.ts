import { openDatabase } from '../../../src/drivers/sessions/sqlite/database.ts'
import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'
import { item } from '../../../src/testing/session-store/records.ts'

/* Writes until somebody else does it for this process, and for a while longer; says how much, and ends without closing the store. */

const [path = ''] = process.argv.slice(2)
const store = sqliteStore({ path })
let count = 0

async function twenty(): Promise<void> {
  const writes = Array.from({ length: 20 }, () =>
    store.append('tenant', 's', [item(`i${count++}`)], undefined, { durable: 'batched' }),
  )
  await Promise.all(writes)
}

await twenty()
const db = openDatabase(path)
const writer = (): unknown => db.all("SELECT value FROM meta WHERE key = 'writer'")[0]!['value']
const first = writer()
while (writer() === first) await twenty()
db.close()
for (let more = 0; more < 10; more++) await twenty()
console.info(count)
