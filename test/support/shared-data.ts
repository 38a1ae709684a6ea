import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'

/**
 * Recorded data that lies beside the project and is not part of it. Tests that use it import this file, and `npm test` lists them in its last
 * lines where the data is missing (`left-out.ts`).
 */
export const SHARED = process.env['PLIMSOLL_SHARED'] ?? resolve(import.meta.dirname, '../../../shared')

/** A path of the shared data. It need not exist. */
export const sharedFolder = (path: string): string => join(SHARED, 'data', path)

/** A file of the shared data as text, unpacked; undefined when the data is not on this machine. */
export function sharedText(path: string): string | undefined {
  const file = sharedFolder(path)
  if (!existsSync(file)) return undefined
  const bytes = readFileSync(file)
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}

/** For `describe.each` and `it.each`: the folder of recorded sessions, or nothing, so that no test is there that looks at nothing. */
export const recorded: readonly string[] = [sharedFolder('transcripts')].filter((folder) => existsSync(folder))

/** The folder of recorded sessions; undefined when the data is not on this machine. */
export function sharedTranscripts(): string | undefined {
  const folder = sharedFolder('transcripts')
  return existsSync(folder) ? folder : undefined
}

export function filesOf(folder: string, name: string): readonly string[] {
  return readdirSync(join(folder, name))
    .filter((file) => !file.endsWith('.yaml'))
    .map((file) => join(folder, name, file))
}
