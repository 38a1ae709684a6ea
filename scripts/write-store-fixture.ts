/**
 * Writes stores as this version leaves them, and what it sees when it opens them again: `tsx scripts/write-store-fixture.ts <folder>`.
 * What lies under test/fixtures/stores-<version> was written by that version and is never written again.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { fillStore, pack, seeStore, STORE_KEY, STORES } from '../test/support/old-stores.ts'

const [target] = process.argv.slice(2)
if (target === undefined) throw new Error('Say where to: a folder for the stores of this version.')
mkdirSync(target, { recursive: true })
for (const name of STORES) {
  if (name === 'encrypted') process.env['PLIMSOLL_KEY'] = STORE_KEY
  const scratch = mkdtempSync(join(tmpdir(), 'plimsoll-fixture-'))
  const [first, copy] = [join(scratch, 'first'), join(scratch, 'copy')]
  mkdirSync(first)
  const histories = await fillStore(name, first)
  await settle(join(first, 'plimsoll.db'))
  cpSync(first, copy, { recursive: true })
  writeFileSync(join(target, `${name}.store.br`), pack(first))
  const seen = await seeStore(name, copy, histories)
  writeFileSync(join(target, `${name}.seen.br`), brotliCompressSync(JSON.stringify({ histories, seen })))
  rmSync(scratch, { recursive: true })
  console.log(name, seen.sessions, `${seen.artifacts.length} artifacts, undone ${seen.undone}`)
}

/** What stands in the log of the database goes into the database itself: it holds each page once. */
async function settle(path: string): Promise<void> {
  const { default: Database } = await import('libsql')
  const database = new Database(path)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}
