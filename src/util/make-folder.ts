import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** As `mkdir -p`, which in Node never ends where a folder can neither be made nor exists (`/proc/x`). */
export function makeFolderSync(path: string, mode: number): void {
  if (made(path, mode)) return
  makeFolderSync(dirname(path), mode)
  if (!made(path, mode)) mkdirSync(path, { mode })
}

/** Whether it is there now; false when its parent is not. */
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
