import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'
import { item } from '../../../src/testing/session-store/records.ts'

/* Has a thread started for the last write, and ends without closing the store. */

const store = sqliteStore({ path: process.argv[2] ?? '', threadAfter: 2 })
for (let count = 0; count < 3; count++) await store.append('tenant', 's', [item(`i${count}`)])
console.info('written')
