import type { Usage } from '../../../core/usage.ts'
import { partOfBlock } from '../messages.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Part, Recording, TranscriptLoader } from '../recording.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf } from '../../../core/values.ts'
import { at, objectOf, timeOf, withoutKeys } from '../values.ts'

/** Cline's session file: Anthropic-like blocks, files as blocks of their own, the prompt in `system_prompt`. */
export const cline: TranscriptLoader = {
  format: 'cline',
  recognises: (value) =>
    isRecord(value) &&
    Array.isArray(value['messages']) &&
    'sessionId' in value &&
    ('system_prompt' in value || 'agent' in value),
  load: (records, context) => records.map(({ value, line }) => loadSession(objectOf(value), line, context)),
}

function loadSession(document: Fields, line: number, context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'cline', wire: 'anthropic-messages', ...context })
  builder.system(stringOf(document['system_prompt']) ?? '')
  for (const message of recordsIn(document['messages'])) {
    const role = message['role'] === 'assistant' ? 'assistant' : 'user'
    const content = message['content']
    const parts: readonly Part[] =
      typeof content === 'string'
        ? [{ kind: role, text: content }]
        : recordsIn(content).map((block) => part(role, block))
    if (role === 'user') builder.user(parts, line)
    else {
      builder.answer({
        parts,
        line,
        model: stringOf(at(message, 'modelInfo', 'id')),
        usage: usageOf(message['metrics']),
        at: timeOf(message['ts']),
      })
    }
  }
  return builder.build()
}

function part(role: 'user' | 'assistant', block: Fields): Part {
  if (block['type'] === 'file') {
    return {
      kind: role,
      text: `<file path="${stringOf(block['path']) ?? ''}">\n${stringOf(block['content']) ?? ''}\n</file>`,
    }
  }
  // `name` on a result is Cline's own; the wire does not take it.
  if (block['type'] === 'tool_result') {
    return { ...partOfBlock(role, withoutKeys(block, ['name'])), toolName: stringOf(block['name']) }
  }
  const read = partOfBlock(role, block)
  if (read.kind !== 'reasoning' || stringOf(block['signature']) !== undefined) return read
  return { kind: 'reasoning', text: read.text }
}

/** Cline's input includes what was read from the cache. */
function usageOf(metrics: unknown): Usage | undefined {
  const input = numberOf(at(metrics, 'inputTokens'))
  if (input === undefined) return undefined
  return {
    input,
    cacheRead: numberOf(at(metrics, 'cacheReadTokens')) ?? 0,
    cacheWrite: numberOf(at(metrics, 'cacheWriteTokens')) ?? 0,
    output: numberOf(at(metrics, 'outputTokens')) ?? 0,
    reasoning: 0,
  }
}
