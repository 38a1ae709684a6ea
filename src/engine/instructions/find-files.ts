import { access, realpath } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** What marks the root of a project. */
export const ROOT_MARKERS = ['.git', '.hg', 'package.json', 'go.mod', 'Cargo.toml'] as const

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** The nearest directory upwards that looks like a project's root; undefined when there is none. */
export async function projectRoot(from: string): Promise<string | undefined> {
  // A loop of links has no real path; the way as it is written will do.
  let dir = await realpath(from).catch(() => resolve(from))
  for (;;) {
    for (const marker of ROOT_MARKERS) if (await exists(join(dir, marker))) return dir
    const parent = dirname(dir)
    if (parent === dir) return undefined
    dir = parent
  }
}

/** Every directory from the root down to the working one, both included, each once. */
export async function directoriesDown(root: string, workDir: string): Promise<string[]> {
  const real = await realpath(workDir).catch(() => resolve(workDir))
  const steps = relative(root, real)
    .split(sep)
    .filter((step) => step !== '')
  if (steps[0] === '..') return [root]
  const dirs = [root]
  for (const step of steps) dirs.push(join(dirs.at(-1)!, step))
  return dirs
}
