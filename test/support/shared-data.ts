import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

const PROJECT = join(import.meta.dirname, '../..')
const SHARED = process.env['PLIMSOLL_SHARED'] ?? join(PROJECT, '../shared')

/** A file of the shared data as text, unpacked; undefined when the data is not on this machine. */
export function sharedText(path: string): string | undefined {
  const file = join(SHARED, 'data', path)
  if (!existsSync(file)) return undefined
  const bytes = readFileSync(file)
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}

/** The folder of the shared data, for listing it. */
export const sharedFolder = (path: string): string => join(SHARED, 'data', path)
