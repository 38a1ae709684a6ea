import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** The folder of shared data, or undefined where it is not beside the project. */
export function sharedData(): string | undefined {
  const root = process.env['PLIMSOLL_SHARED'] ?? join(PROJECT, '..', 'shared')
  const data = join(root, 'data')
  return existsSync(data) ? data : undefined
}

/** Text of a file, unpacked when its name ends in `.gz`. */
export function readText(path: string): string {
  const bytes = readFileSync(path)
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
}

/** JSON of each line; lines that hold no single object are left out. */
export function readLines<T>(path: string): T[] {
  const rows: T[] = []
  for (const line of readText(path).split('\n')) {
    if (line === '') continue
    try {
      rows.push(JSON.parse(line) as T)
    } catch {
      // Two recorded sessions hold two objects on one line; one row more or less decides nothing here.
    }
  }
  return rows
}

/** Paths below a folder, relative to it, in a fixed order. */
export function filesBelow(folder: string): string[] {
  const found: string[] = []
  const walk = (at: string): void => {
    for (const name of readdirSync(at).sort()) {
      const path = join(at, name)
      if (statSync(path).isDirectory()) walk(path)
      else found.push(relative(folder, path))
    }
  }
  walk(folder)
  return found
}
