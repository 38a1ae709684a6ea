import { realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, isAbsolute } from 'node:path'

/** The path as the file system sees it, symbolic links followed; what is not there yet is resolved from its nearest folder. */
async function realPath(cwd: string, path: string): Promise<string> {
  const wanted = resolve(cwd, path)
  try {
    return await realpath(wanted)
  } catch {
    const parent = dirname(wanted)
    return parent === wanted ? wanted : join(await realPath(cwd, parent), basename(wanted))
  }
}

/** Whether a path stays inside the working folder, links included. */
export async function isInside(cwd: string, path: string): Promise<boolean> {
  const way = relative(await realpath(cwd), await realPath(cwd, path))
  return way === '' || (!way.startsWith('..') && !isAbsolute(way))
}
