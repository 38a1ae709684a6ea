import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { plimsollHome } from '../../plimsoll.ts'
import { listChats } from '../chat/journal.ts'
import { listSessions, type Stores } from '../stores.ts'

/** Codex says its folder in its first message. */
const FIRST_RECORDS = 20

/** Claude Code keeps a folder's sessions under a name in which other characters than letters and digits are dashes. */
export const claudeFolder = (cwd: string): string =>
  join(process.env['CLAUDE_CONFIG_DIR'] ?? join(homedir(), '.claude'), 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'))

/** The stored sessions of agents that worked in a folder, by what `plimsoll chat`, Claude Code and Codex say about it. */
export async function sessionsIn(
  stores: Stores,
  cwd: string,
): Promise<readonly { readonly tenant: string; readonly session: string }[]> {
  const chats = new Set(listChats(join(plimsollHome(), 'chats')).flatMap((chat) => (chat.cwd === cwd ? chat.id : [])))
  const isHere = async (tenant: string, session: string): Promise<boolean> => {
    if (tenant === 'local' && chats.has(session)) return true
    const [, id] = /^claude-code-([0-9A-Za-z-]+)$/.exec(session) ?? []
    if (id !== undefined) return existsSync(join(claudeFolder(cwd), `${id}.jsonl`))
    for await (const { record, version } of stores.sessions.read(tenant, session)) {
      if (record.type === 'item-seen' && record.text.includes(`<cwd>${cwd}</cwd>`)) return true
      if (version >= FIRST_RECORDS) return false
    }
    return false
  }
  const found: { tenant: string; session: string }[] = []
  for (const { tenant, session } of await listSessions(stores))
    if (await isHere(tenant, session)) found.push({ tenant, session })
  return found
}
