import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

export interface AgentsFile {
  readonly level: 'user' | 'project' | 'folder'
  readonly path: string
  readonly text: string
}

// A file that someone else wrote into a repository should not fill the window.
const MAX_CHARACTERS = 32_000

/** AGENTS.md of the user (in the home of Plimsoll), of the project (where .git is), and of the folder; the nearest speaks last. */
export function readAgentsFiles(home: string, cwd: string): readonly AgentsFile[] {
  const root = projectRoot(cwd)
  const places: readonly (readonly [AgentsFile['level'], string])[] = [
    ['user', join(home, 'AGENTS.md')],
    ...(root === undefined ? [] : [['project', join(root, 'AGENTS.md')] as const]),
    ['folder', join(cwd, 'AGENTS.md')],
  ]
  const seen = new Set<string>()
  return places.flatMap(([level, path]): AgentsFile[] => {
    if (seen.has(path) || !existsSync(path)) return []
    seen.add(path)
    return [{ level, path, text: readFileSync(path, 'utf8').slice(0, MAX_CHARACTERS) }]
  })
}

function projectRoot(cwd: string): string | undefined {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (dirname(folder) === folder) return undefined
  }
}

/** Fixed for a session: a prompt that changed would throw the provider's cache away. */
export function systemPrompt(cwd: string, agents: readonly AgentsFile[]): string {
  return [
    `You are a coding agent in a terminal. The working folder is ${cwd}.`,
    'Use the tools to look before you answer, and say briefly what you did. Results that were too long are shown as a preview with a handle: read more of them with the artifact tools. recall searches what is no longer in view.',
    ...agents.map(({ level, path, text }) => `Instructions of the ${level} (${path}):\n\n${text.trim()}`),
  ].join('\n\n')
}
