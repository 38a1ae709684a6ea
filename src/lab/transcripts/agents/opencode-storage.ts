import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

import { isRecord, stringOf } from '../../../core/values.ts'

/**
 * OpenCode keeps a session as many small files: `session/<project>/<id>.json`, `message/<id>/*.json`, `part/<message>/*.json`.
 * Gives the same document that `opencode export` writes, as text; undefined when the file is no such session.
 */
export async function readOpenCodeStorage(sessionFile: string): Promise<string | undefined> {
  const storage = dirname(dirname(dirname(sessionFile)))
  if (basename(dirname(dirname(sessionFile))) !== 'session') return undefined
  const info = await readJson(sessionFile)
  const id = isRecord(info) ? stringOf(info['id']) : undefined
  // Ids become folder names here; one with a separator is not OpenCode's.
  if (id === undefined || !isSafeId(id)) return undefined
  const messages = []
  for (const message of await readFolder(join(storage, 'message', id))) {
    const messageId = isRecord(message) ? stringOf(message['id']) : undefined
    if (messageId === undefined || !isSafeId(messageId)) continue
    messages.push({ info: message, parts: await readFolder(join(storage, 'part', messageId)) })
  }
  return JSON.stringify({ info, messages })
}

const isSafeId = (id: string): boolean => /^[A-Za-z0-9_-]+$/.test(id)

/** Names sort by the time of their making: ids are ascending. */
async function readFolder(folder: string): Promise<readonly unknown[]> {
  const names = await readdir(folder).catch(() => [])
  const values: unknown[] = []
  for (const name of names.filter((file) => file.endsWith('.json')).sort()) {
    const value = await readJson(join(folder, name))
    if (value !== undefined) values.push(value)
  }
  return values
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown
  } catch {
    return undefined
  }
}
