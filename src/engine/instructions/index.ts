import { access, readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { byteLength, cutHeadBytes } from '../intake/text.ts'
import { designOf, type Design } from '../presets/design.ts'
import { policies } from '../presets/index.ts'

export interface InstructionOptions {
  readonly workDir: string
  /** Folder of the global file. @default ~/.plimsoll, or the preset's own: see `globalDirOf` */
  readonly globalDir?: string
  /** Read the files of the project too. They have the user's authority, so only for trusted projects. @default false */
  readonly trustProject?: boolean
  /** How the project's root is found. @default 'repository', or the preset's own: see `rootRuleOf` */
  readonly root?: RootRule
  /** Read links that point outside the project too. @default false: they could reveal any file */
  readonly followLinks?: boolean
  /** @default 'AGENTS.md' */
  readonly fileName?: string
  /** Most bytes of all files together, the note about a cut included. @default 32768 */
  readonly maxBytes?: number
}

export interface Instructions {
  readonly merged: string
  /** The files that were read, in order. */
  readonly sources: readonly string[]
  /** Files that exist and were not read: no permission, or links that point outside the project. */
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

export const globalDirOf = (policy: string, home = homedir()): string =>
  join(home, placesOf(policy)?.folder ?? '.plimsoll')

export const rootRuleOf = (policy: string): RootRule => placesOf(policy)?.root ?? 'repository'

/** Reads the global file, then those from the project's root down to the working directory; at most 32 KiB, and a note says when text was cut. */
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

/** Whether a file is a link to a file outside the project. */
async function leadsOutOf(root: string, path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => path)
  const way = relative(await realpath(root).catch(() => root), real)
  return way.startsWith('..') || isAbsolute(way)
}

/** Undefined for a missing file, null for an unreadable one. */
async function readText(path: string): Promise<string | null | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null
  }
}

/** Instructions of one session, in the system prompt, which no compaction changes. */
export interface SessionInstructions {
  /** The files when the session began. Never updated: a change at the start of the prompt would invalidate the provider's cache. */
  readonly atStart: Instructions
  /** A user message to append when the files have changed since the last call; undefined otherwise. Pin it, since it replaces the instructions. */
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

/** A repository is one project, even with several packages. */
const REPOSITORY_MARKERS = ['.git', '.hg'] as const
export const ROOT_MARKERS = [...REPOSITORY_MARKERS, 'package.json', 'go.mod', 'Cargo.toml'] as const

/**
 * `repository`: the nearest directory under version control, so that a monorepo's files apply to each package; without one, the nearest with any
 * marker. `nearest`: the nearest with any marker.
 */
export type RootRule = 'repository' | 'nearest'

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** The project's root at or above a directory; undefined without one. */
export async function projectRoot(from: string, rule: RootRule = 'repository'): Promise<string | undefined> {
  // A loop of links has no real path.
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

/** The directories from the root to the working directory, both included. */
async function directoriesDown(root: string, workDir: string): Promise<string[]> {
  const real = await realpath(workDir).catch(() => resolve(workDir))
  const steps = relative(root, real).split(sep)
  if (steps[0] === '..' || steps[0] === '') return [root]
  return [root, ...steps.map((_, i) => join(root, ...steps.slice(0, i + 1)))]
}
