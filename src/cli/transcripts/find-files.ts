import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PlimsollError } from '../../core/errors.ts'

const SESSION_FILE = /\.(?:jsonl|json|ndjson|traj)(?:\.gz)?$/
const NOT_OURS = new Set(['node_modules', '.git'])

export interface GivenFile {
  readonly path: string
  /** Named on the command line; others were found in a folder, where files that hold no transcript are normal. */
  readonly named: boolean
}

/** Files as they were given, and session files below folders. Paths that are not there reject. */
export async function findFiles(paths: readonly string[]): Promise<readonly GivenFile[]> {
  const found: GivenFile[] = []
  for (const path of paths) {
    const info = await stat(path).catch((cause: unknown) => {
      throw new PlimsollError('bad-input', `${path} cannot be read.`, { cause, advice: 'Check the path.' })
    })
    if (!info.isDirectory()) found.push({ path, named: true })
    else await walk(path, found)
  }
  return found
}

async function walk(folder: string, found: GivenFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !NOT_OURS.has(entry.name)) await walk(path, found)
    else if (entry.isFile() && SESSION_FILE.test(entry.name)) found.push({ path, named: false })
  }
}
