import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Usage } from '../../../core/usage.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf } from '../../../core/values.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Part, Recording, TranscriptLoader } from '../recording.ts'
import { at, jsonText, objectOf, timeOf } from '../values.ts'

/**
 * OpenCode's session as `opencode export` writes it: `{ info, messages: [{ info, parts }] }`. A tool part holds the call and
 * its result; `step-start` begins another model call inside one message.
 */
export const openCode: TranscriptLoader = {
  format: 'opencode',
  recognises: (value) =>
    isRecord(value) &&
    recordsIn(value['messages'])
      .slice(0, 1)
      .some((message) => isRecord(message['info']) && Array.isArray(message['parts'])),
  load: (records, context) => records.map(({ value, line }) => loadSession(objectOf(value), line, context)),
}

function loadSession(document: Fields, line: number, context: LoadContext): Recording {
  const name = stringOf(at(document, 'info', 'title'))
  const builder = new RecordingBuilder({
    format: 'opencode',
    wire: 'anthropic-messages',
    ...context,
    name,
  })
  for (const message of recordsIn(document['messages'])) {
    const info = objectOf(message['info'])
    const parts = recordsIn(message['parts'])
    if (info['role'] === 'assistant') addSteps(builder, info, parts, line)
    else builder.user(parts.flatMap(userPart), line)
  }
  return builder.build()
}

function addSteps(builder: RecordingBuilder, info: Fields, parts: readonly Fields[], line: number): void {
  // OpenCode writes its summary as an assistant message and sends nothing older from then on.
  if (info['summary'] === true) {
    const text = parts.map((part) => (part['type'] === 'text' ? (stringOf(part['text']) ?? '') : '')).join('\n')
    if (builder.compact(line)) builder.user([{ kind: 'user', text }], line)
    return
  }
  const steps: { parts: Fields[]; tokens: unknown }[] = []
  for (const part of parts) {
    if (part['type'] === 'step-start' || steps.length === 0) steps.push({ parts: [], tokens: undefined })
    const step = steps.at(-1)
    if (part['type'] === 'step-finish' && step !== undefined) step.tokens = part['tokens']
    else step?.parts.push(part)
  }
  for (const step of steps) {
    builder.answer({
      parts: step.parts.flatMap(assistantPart),
      line,
      model: stringOf(info['modelID']),
      usage: usageOf(step.tokens ?? (steps.length === 1 ? info['tokens'] : undefined)),
      at: timeOf(at(info, 'time', 'created')),
    })
    builder.user(step.parts.flatMap(resultPart), line)
  }
}

function userPart(part: Fields): readonly Part[] {
  if (part['type'] === 'text') return [{ kind: 'user', text: stringOf(part['text']) ?? '' }]
  if (part['type'] !== 'file') return []
  const url = stringOf(part['url']) ?? ''
  return [
    { kind: 'media', text: stringOf(part['filename']) ?? '', mediaBytes: url.startsWith('data:') ? url.length : 0 },
  ]
}

function assistantPart(part: Fields): readonly Part[] {
  if (part['type'] === 'text') return [{ kind: 'assistant', text: stringOf(part['text']) ?? '' }]
  if (part['type'] === 'reasoning') return [{ kind: 'reasoning', text: stringOf(part['text']) ?? '' }]
  if (part['type'] !== 'tool') return []
  const input = at(part, 'state', 'input') ?? {}
  return [{ kind: 'call', text: jsonText(input), input, ...names(part) }]
}

function resultPart(part: Fields): readonly Part[] {
  if (part['type'] !== 'tool') return []
  const error = stringOf(at(part, 'state', 'error'))
  const text = stringOf(at(part, 'state', 'output')) ?? error
  if (text === undefined) return []
  return [{ kind: 'result', text, ...names(part), ...(error !== undefined && { isError: true }) }]
}

const names = (part: Fields) => ({
  callId: stringOf(part['callID']),
  toolName: stringOf(part['tool']),
})

/** OpenCode's input excludes cached tokens, its output excludes reasoning. */
function usageOf(tokens: unknown): Usage | undefined {
  const plain = numberOf(at(tokens, 'input'))
  if (plain === undefined) return undefined
  const cacheRead = numberOf(at(tokens, 'cache', 'read')) ?? 0
  const cacheWrite = numberOf(at(tokens, 'cache', 'write')) ?? 0
  const reasoning = numberOf(at(tokens, 'reasoning')) ?? 0
  const output = (numberOf(at(tokens, 'output')) ?? 0) + reasoning
  return { input: plain + cacheRead + cacheWrite, cacheRead, cacheWrite, output, reasoning }
}

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
