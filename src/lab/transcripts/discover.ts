import { readdir, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A session file that a client left on this machine. */
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
  /** Read for the folders that clients let one move. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Newest sessions to return. @default 50 */
  readonly limit?: number
}

interface ClientFolder {
  readonly client: FoundSession['client']
  readonly folder: string
  readonly depth: number
  readonly matches: (name: string, parents: readonly string[]) => boolean
}

/** Finds session files of known clients, newest first. Folders that are not there or may not be read are no error. */
export async function discoverSessions(options: DiscoverOptions = {}): Promise<readonly FoundSession[]> {
  const { home = homedir(), env = process.env, limit = 50 } = options
  const found: FoundSession[] = []
  for (const place of placesOf(home, env)) await walk(place, place.folder, [], found)
  return found.sort((a, b) => b.modifiedAt - a.modifiedAt || a.path.localeCompare(b.path)).slice(0, limit)
}

const isLines = (name: string): boolean => name.endsWith('.jsonl')

function placesOf(home: string, env: Readonly<Record<string, string | undefined>>): readonly ClientFolder[] {
  const data = env['XDG_DATA_HOME'] ?? join(home, '.local/share')
  return [
    {
      client: 'claude-code',
      folder: join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'projects'),
      depth: 4,
      matches: isLines,
    },
    {
      client: 'codex',
      folder: join(env['CODEX_HOME'] ?? join(home, '.codex'), 'sessions'),
      depth: 4,
      matches: (name) => name.startsWith('rollout-') && isLines(name),
    },
    {
      client: 'gemini-cli',
      folder: join(home, '.gemini/tmp'),
      depth: 3,
      matches: (name, parents) => parents.at(-1) === 'chats' && /^session-.*\.jsonl?$/.test(name),
    },
    {
      client: 'pi',
      folder: join(env['PI_CODING_AGENT_DIR'] ?? join(home, '.pi/agent'), 'sessions'),
      depth: 2,
      matches: isLines,
    },
    // A session's own file holds its title alone; messages and parts stand in folders beside it (see `opencode-storage.ts`).
    {
      client: 'opencode',
      folder: join(data, 'opencode/storage/session'),
      depth: 2,
      matches: (name) => /^ses_.*\.json$/.test(name),
    },
  ]
}

async function walk(
  place: ClientFolder,
  folder: string,
  parents: readonly string[],
  found: FoundSession[],
): Promise<void> {
  let entries
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch {
    return
  }
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (parents.length + 1 < place.depth) await walk(place, path, [...parents, entry.name], found)
    } else if (entry.isFile() && place.matches(entry.name, parents)) {
      const info = await stat(path).catch(() => undefined)
      if (info !== undefined && info.size > 0) {
        found.push({ client: place.client, path, bytes: info.size, modifiedAt: info.mtimeMs })
      }
    }
  }
}
