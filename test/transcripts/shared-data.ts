import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const shared = process.env['PLIMSOLL_SHARED'] ?? resolve(root, '../shared')

/** Folder of the shared transcripts, or undefined after saying loudly that it is absent. */
export function sharedTranscripts(): string | undefined {
  const folder = join(shared, 'data/transcripts')
  if (existsSync(folder)) return folder
  console.warn(`\n*** ${folder} is absent: only the fixtures are tested. Set PLIMSOLL_SHARED to run the corpus. ***\n`)
  return undefined
}

export function filesOf(folder: string, name: string): readonly string[] {
  return readdirSync(join(folder, name))
    .filter((file) => !file.endsWith('.yaml'))
    .map((file) => join(folder, name, file))
}
