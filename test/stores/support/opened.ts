import { openStore } from '../../../src/drivers/open-store.ts'
import { sqliteStore } from '../../../src/drivers/sessions/sqlite/index.ts'
import type { MaintainedStore } from '../../../src/ports/store-maintenance.ts'

const THREADED = 'thread:'

/** A store by its URL, or an SQLite file that a thread of the process writes: `thread:/path`. */
export const openedStore = (url: string): MaintainedStore =>
  url.startsWith(THREADED) ? sqliteStore({ path: url.slice(THREADED.length), threadAfter: 0 }) : openStore(url)
