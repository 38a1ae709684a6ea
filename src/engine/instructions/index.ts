import { access, readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { byteLength, cutHeadBytes } from '../intake/text.ts'
import { designOf, type Design } from '../presets/design.ts'
import { policies } from '../presets/index.ts'

export interface InstructionOptions {
  readonly workDir: string
  /** Where the global file is. @default ~/.plimsoll, or the preset's own: see `globalDirOf` */
  readonly globalDir?: string
  /** Files of a project are read only where it is trusted: they speak with the user's authority. @default false */
  readonly trustProject?: boolean
  /** Where a project begins. @default 'repository', or the preset's own: see `rootRuleOf` */
  readonly root?: RootRule
  /** Files of a project that are links to a place outside it are read too. @default false: they would show what they point at */
  readonly followLinks?: boolean
  /** @default 'AGENTS.md' */
  readonly fileName?: string
  /** All files together, the note about a cut included. @default 32768 */
  readonly maxBytes?: number
}

export interface Instructions {
  readonly merged: string
  /** Files that are in it, in order. */
  readonly sources: readonly string[]
  /** Files that are there and were not read: without permission, or links that lead out of the project. */
  readonly unreadable: readonly string[]
  readonly bytes: number
  readonly truncated: boolean
}

const LIMIT = 32 * 1024
const SEPARATOR = '\n\n'
const placesOf = (policy: string): Design['instructions'] => {
  const preset = policies.get(policy)
  return preset && designOf(preset).instructions
}

/** Where a preset keeps its global file. */
export const globalDirOf = (policy: string, home = homedir()): string =>
  join(home, placesOf(policy)?.folder ?? '.plimsoll')

/** How a preset finds the root of a project. */
export const rootRuleOf = (policy: string): RootRule => placesOf(policy)?.root ?? 'repository'

/** Global, project root, then every directory down to the working one, in this order; at most 32 KiB, and a cut says so. */
export async function loadInstructions(options: InstructionOptions): Promise<Instructions> {
  const { workDir, globalDir = globalDirOf('plimsoll'), trustProject = false } = options
  const { fileName = 'AGENTS.md', maxBytes = LIMIT, followLinks } = options
  const root = trustProject ? await projectRoot(workDir, options.root) : undefined
  const dirs = [globalDir, ...(root === undefined ? [] : await directoriesDown(root, workDir))]
  const texts: string[] = []
  const sources: string[] = []
  const unreadable: string[] = []
  for (const path of new Set(dirs.map((dir) => join(dir, fileName)))) {
    const isProjects = root !== undefined && path !== join(globalDir, fileName)
    const read = isProjects && followLinks !== true && (await leadsOutOf(root, path)) ? null : await readText(path)
    if (read === null) unreadable.push(path)
    else if (read !== undefined && read.trim() !== '') {
      texts.push(read)
      sources.push(path)
    }
  }
  const whole = texts.join(SEPARATOR)
  const total = byteLength(whole)
  const truncated = total > maxBytes
  const merged = truncated ? cutTo(whole, total, maxBytes) : whole
  return { merged, sources, unreadable, bytes: byteLength(merged), truncated }
}

function cutTo(whole: string, total: number, maxBytes: number): string {
  const ending = `${SEPARATOR}[Instructions cut: ${total} bytes, and ${maxBytes} fit.]`
  return cutHeadBytes(whole, Math.max(0, maxBytes - byteLength(ending))) + ending
}

/** Whether a file is really somewhere else than inside the project. */
async function leadsOutOf(root: string, path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => path)
  const way = relative(await realpath(root).catch(() => root), real)
  return way.startsWith('..') || isAbsolute(way)
}

/** Undefined for a file that is not there, null for one that cannot be read. */
async function readText(path: string): Promise<string | null | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null
  }
}

/** Instructions of one session. They stand in the system prompt, which no reduction touches. */
export interface SessionInstructions {
  /** As they were when the session began. Frozen: a change at the head of a prompt would throw the provider's cache away. */
  readonly atStart: Instructions
  /**
   * What to append as a user message when the files have changed since the last look; undefined otherwise. Pin it: it stands for
   * the instructions from then on.
   */
  changes(): Promise<string | undefined>
}

export async function sessionInstructions(options: InstructionOptions): Promise<SessionInstructions> {
  const atStart = await loadInstructions(options)
  let known = atStart.merged
  return {
    atStart,
    async changes() {
      const { merged } = await loadInstructions(options)
      if (merged === known) return undefined
      known = merged
      const body = merged === '' ? 'There are no instruction files any more.' : merged
      return `[The instruction files have changed. Follow these instead of the earlier ones:]\n\n${body}`
    },
  }
}

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
async function directoriesDown(root: string, workDir: string): Promise<string[]> {
  const real = await realpath(workDir).catch(() => resolve(workDir))
  const steps = relative(root, real).split(sep)
  if (steps[0] === '..' || steps[0] === '') return [root]
  return [root, ...steps.map((_, i) => join(root, ...steps.slice(0, i + 1)))]
}
