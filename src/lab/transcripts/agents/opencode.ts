import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { usageIn } from '../../../core/usage.ts'
import { type Fields, isRecord, recordsIn, stringOf, textOf, parsedJson } from '../../../core/values.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader } from '../recording.ts'
import type { Piece } from '../shapes.ts'
import { at, objectOf, timeOf } from '../values.ts'

/**
 * OpenCode's session as `opencode export` writes it: `{ info, messages: [{ info, parts }] }`. A tool part contains the call and its result;
 * `step-start` begins another model call within a message.
 */
export const openCode: TranscriptLoader = {
  format: 'opencode',
  recognises: (value) =>
    isRecord(value) &&
    recordsIn(value['messages'])
      .slice(0, 1)
      .some((message) => isRecord(message['info']) && Array.isArray(message['parts'])),
  load: (values, context) => values.map(({ value, line }) => loadSession(objectOf(value), line, context)),
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
    else builder.user(parts.flatMap(textIn), line)
  }
  return builder.build()
}

function addSteps(builder: RecordingBuilder, info: Fields, parts: readonly Fields[], line: number): void {
  // OpenCode writes its summary as an assistant message and sends nothing older after it.
  if (info['summary'] === true) {
    if (builder.compact(line)) builder.user([parts.flatMap(textIn).join('\n')], line)
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
      pieces: step.parts.flatMap(assistantBlock),
      line,
      model: stringOf(info['modelID']),
      usage: usageIn(step.tokens ?? (steps.length === 1 ? info['tokens'] : undefined), USAGE),
      at: timeOf(at(info, 'time', 'created')),
    })
    builder.user(step.parts.flatMap(resultBlock), line)
  }
}

const textIn = (part: Fields): readonly string[] => (part['type'] === 'text' ? [textOf(part['text'])] : [])

function assistantBlock(part: Fields): readonly Piece[] {
  if (part['type'] === 'reasoning') return [{ type: 'thinking', thinking: part['text'] }]
  if (part['type'] !== 'tool') return textIn(part)
  return [{ type: 'tool_use', id: part['callID'], name: part['tool'], input: at(part, 'state', 'input') ?? {} }]
}

function resultBlock(part: Fields): readonly Fields[] {
  const error = stringOf(at(part, 'state', 'error'))
  const content = stringOf(at(part, 'state', 'output')) ?? error
  if (part['type'] !== 'tool' || content === undefined) return []
  const is_error = error === undefined ? undefined : true
  return [{ type: 'tool_result', tool_use_id: part['callID'], content, is_error }]
}

/** OpenCode's input count excludes cached tokens, its output count excludes reasoning. */
const USAGE = {
  input: ['input', 'cache.read', 'cache.write'],
  cacheRead: 'cache.read',
  cacheWrite: 'cache.write',
  output: ['output', 'reasoning'],
  reasoning: 'reasoning',
}

/**
 * OpenCode keeps a session in many small files: `session/<project>/<id>.json`, `message/<id>/*.json`, `part/<message>/*.json`. Returns the text
 * that `opencode export` would write; undefined when the file is no such session.
 */
export async function readOpenCodeStorage(sessionFile: string): Promise<string | undefined> {
  const storage = dirname(dirname(dirname(sessionFile)))
  if (basename(dirname(dirname(sessionFile))) !== 'session') return undefined
  const info = await readJson(sessionFile)
  const id = isRecord(info) ? stringOf(info['id']) : undefined
  // The id becomes a folder name, so ids with a separator are refused.
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

/** Names sort by creation time, because ids are ascending. */
async function readFolder(folder: string): Promise<readonly unknown[]> {
  const names = await readdir(folder).catch(() => [])
  const values: unknown[] = []
  for (const name of names.filter((file) => file.endsWith('.json')).sort()) {
    const value = await readJson(join(folder, name))
    if (value !== undefined) values.push(value)
  }
  return values
}

const readJson = async (file: string): Promise<unknown> => parsedJson(await readFile(file, 'utf8').catch(() => ''))
