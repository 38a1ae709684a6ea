import { access, realpath } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** A repository is one project, however many packages it holds. */
const REPOSITORY_MARKERS = ['.git', '.hg'] as const
/** What marks the root of a project. */
export const ROOT_MARKERS = [...REPOSITORY_MARKERS, 'package.json', 'go.mod', 'Cargo.toml'] as const

/**
 * `repository`: the nearest directory under version control, so that the rules of a monorepo hold in each of its packages; without
 * one the nearest marker of any kind. `nearest`: always that.
 */
export type RootRule = 'repository' | 'nearest'

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** The directory upwards that is the project's root; undefined when there is none. */
export async function projectRoot(from: string, rule: RootRule = 'repository'): Promise<string | undefined> {
  // A loop of links has no real path; the way as it is written will do.
  const start = await realpath(from).catch(() => resolve(from))
  const repository = rule === 'repository' ? await nearestWith(REPOSITORY_MARKERS, start) : undefined
  return repository ?? nearestWith(ROOT_MARKERS, start)
}

async function nearestWith(markers: readonly string[], start: string): Promise<string | undefined> {
  for (let dir = start; ; dir = dirname(dir)) {
    for (const marker of markers) if (await exists(join(dir, marker))) return dir
    if (dirname(dir) === dir) return undefined
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
