import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** Like `mkdir -p`, which in Node never returns for a path that cannot be made (`/proc/x`). */
export function makeFolderSync(path: string, mode: number): void {
  if (made(path, mode)) return
  makeFolderSync(dirname(path), mode)
  if (!made(path, mode)) mkdirSync(path, { mode })
}

/** Whether the folder exists now; false when its parent does not. */
function made(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode })
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return true
    if (code === 'ENOENT' && dirname(path) !== path) return false
    throw error
  }
}
