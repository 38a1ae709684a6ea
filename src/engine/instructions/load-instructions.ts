import { readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { byteLength, cutHeadBytes } from '../intake/text.ts'
import { directoriesDown, projectRoot, type RootRule } from './find-files.ts'

export interface InstructionOptions {
  readonly workDir: string
  /** Where the global file is. @default ~/.plimsoll, or the preset's own: see `globalDirOf` */
  readonly globalDir?: string
  /** Files of a project are read only where it is trusted: whoever wrote them would speak with the user's authority. @default false */
  readonly trustProject?: boolean
  /** Where a project begins. @default 'repository', or the preset's own: see `rootRuleOf` */
  readonly root?: RootRule
  /** Files of a project that are links to a place outside it are read too. @default false: they would show whatever they point at */
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
const note = (total: number, maxBytes: number): string =>
  `${SEPARATOR}[Instructions cut: ${total} bytes, and ${maxBytes} fit.]`

/** Where a preset keeps its global file. */
export const globalDirOf = (policy: string, home = homedir()): string =>
  join(home, policy === 'adk-code' ? '.adk-code' : '.plimsoll')

/** How a preset finds the root of a project. */
export const rootRuleOf = (policy: string): RootRule => (policy === 'adk-code' ? 'nearest' : 'repository')

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
  const ending = note(total, maxBytes)
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
