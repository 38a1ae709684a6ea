import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { insertedTexts } from '../../core/epochs.ts'
import type { LivedSession } from './replay-session.ts'

/** Writes what each compaction put in to a file of its own, named after session, policy, window and call. */
export function dumpRecords(folder: string, { result, epochs, log }: LivedSession): void {
  mkdirSync(folder, { recursive: true })
  const records = new Map(log.flatMap((entry) => (entry.type === 'epoch' ? [[entry.id, entry] as const] : [])))
  for (const { call, epoch } of epochs) {
    const record = records.get(epoch)
    if (record === undefined) continue
    const texts = insertedTexts(record)
    if (texts.length === 0) continue
    const name = `${fileName(result.file)}.${result.policy}.${result.window}.call-${String(call + 1).padStart(4, '0')}.txt`
    writeFileSync(join(folder, name), `${texts.join('\n\n')}\n`)
  }
}

/** Names of sessions come from outside: only plain characters of the last part become a file name. */
const fileName = (file: string): string =>
  basename(file)
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '_')
