import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, sep } from 'node:path'

export interface FoundSession {
  readonly client: 'claude-code' | 'codex' | 'gemini-cli' | 'pi' | 'opencode'
  readonly path: string
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly modifiedAt: number
}

export interface DiscoverOptions {
  /** @default the user's home */
  readonly home?: string
  /** Environment variables by which some clients move their folder. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The number of newest sessions to return. @default 50 */
  readonly limit?: number
}

/** Finds session files of known clients, newest first. Folders that are missing or unreadable are skipped. */
export async function discoverSessions(options: DiscoverOptions = {}): Promise<readonly FoundSession[]> {
  const { home = homedir(), env = process.env, limit = 50 } = options
  const found: FoundSession[] = []
  for (const { client, folder, pattern } of foldersOf(home, env)) {
    const names = await readdir(folder, { recursive: true }).catch(() => [])
    for (const name of names.filter((each) => pattern.test(each.replaceAll(sep, '/')))) {
      const path = join(folder, name)
      const info = await stat(path).catch(() => undefined)
      if (info?.isFile() === true && info.size > 0)
        found.push({ client, path, bytes: info.size, modifiedAt: info.mtimeMs })
    }
  }
  return found.sort((a, b) => b.modifiedAt - a.modifiedAt || a.path.localeCompare(b.path)).slice(0, limit)
}

interface ClientFolder {
  readonly client: FoundSession['client']
  readonly folder: string
  /** Matches a session's path in the folder. */
  readonly pattern: RegExp
}

function foldersOf(home: string, env: Readonly<Record<string, string | undefined>>): readonly ClientFolder[] {
  const data = env['XDG_DATA_HOME'] ?? join(home, '.local/share')
  const [claude, codex] = [env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), env['CODEX_HOME'] ?? join(home, '.codex')]
  const pi = env['PI_CODING_AGENT_DIR'] ?? join(home, '.pi/agent')
  return [
    { client: 'claude-code', folder: join(claude, 'projects'), pattern: /\.jsonl$/ },
    { client: 'codex', folder: join(codex, 'sessions'), pattern: /(^|\/)rollout-[^/]*\.jsonl$/ },
    { client: 'gemini-cli', folder: join(home, '.gemini/tmp'), pattern: /(^|\/)chats\/session-[^/]*\.jsonl?$/ },
    { client: 'pi', folder: join(pi, 'sessions'), pattern: /\.jsonl$/ },
    // The session's file only contains its title; messages and parts are in other folders (see `agents/opencode.ts`).
    { client: 'opencode', folder: join(data, 'opencode/storage/session'), pattern: /(^|\/)ses_[^/]*\.json$/ },
  ]
}
