import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader, SourceValue } from '../recording.ts'
import { usageIn } from '../../../core/usage.ts'
import { at, timeOf } from '../values.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf, textOf } from '../../../core/values.ts'

const ENVELOPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted'])

/**
 * Codex CLI's rollout file: the items of the Responses API as they were sent and received, and `token_count` events with the usage of the newest
 * call. In the oldest files, the items have no envelope.
 */
export const codexRollout: TranscriptLoader = {
  format: 'codex-rollout',
  recognises(value) {
    if (!isRecord(value)) return false
    return (ENVELOPES.has(stringOf(value['type']) ?? '') && isRecord(value['payload'])) || isBareItem(value)
  },
  load: (values, context) => [loadRollout(values, context)],
}

const isBareItem = (value: Fields): boolean =>
  value['record_type'] === 'state' ||
  (value['type'] === 'message' && Array.isArray(value['content']) && typeof value['role'] === 'string') ||
  ['reasoning', 'function_call', 'function_call_output', 'local_shell_call'].includes(stringOf(value['type']) ?? '')

interface Progress {
  /** Input came after the newest answer, so the model's next item begins a new response. */
  inputSince: boolean
  responses: number
  totalTokens: number
  model: string | undefined
}

function loadRollout(values: readonly SourceValue[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'codex-rollout', wire: 'openai-responses', ...context })
  const progress: Progress = { inputSince: true, responses: 0, totalTokens: -1, model: undefined }
  for (const { value, line } of values) {
    if (!isRecord(value)) continue
    const payload = isRecord(value['payload']) ? value['payload'] : value
    switch (value['type']) {
      case 'session_meta':
        builder.system(stringOf(at(payload, 'base_instructions', 'text')) ?? stringOf(payload['instructions']) ?? '')
        break
      case 'turn_context':
        progress.model = stringOf(payload['model']) ?? progress.model
        builder.model(progress.model)
        break
      case 'compacted':
        compacted(builder, payload, line)
        progress.inputSince = true
        break
      case 'event_msg':
        if (payload['type'] === 'token_count') tokenCount(builder, payload, progress)
        break
      default:
        addItem(builder, payload, line, timeOf(value['timestamp']), progress)
    }
  }
  return builder.build()
}

function addItem(
  builder: RecordingBuilder,
  item: Fields,
  line: number,
  time: number | undefined,
  progress: Progress,
): void {
  // Reasoning without encrypted content and without a summary is empty and cannot be sent back.
  if (item['type'] === 'reasoning' && item['encrypted_content'] === undefined && !hasWords(item)) return
  if (item['type'] === undefined && item['role'] === undefined) return
  if (!isModelItem(item)) {
    builder.user([item], line)
    progress.inputSince = true
    return
  }
  if (progress.inputSince) progress.responses++
  progress.inputSince = false
  builder.answer({
    id: `response-${progress.responses}`,
    pieces: [item],
    line,
    model: progress.model,
    at: time,
  })
}

const hasWords = (reasoning: Fields): boolean =>
  [...recordsIn(reasoning['summary']), ...recordsIn(reasoning['content'])].some((part) => textOf(part['text']) !== '')

const CALLS = /^(?:reasoning|.*_call)$/

/** An item of the model, not of the client. */
const isModelItem = (item: Fields): boolean =>
  item['type'] === 'message' || item['type'] === undefined
    ? item['role'] === 'assistant'
    : CALLS.test(textOf(item['type']))

const USAGE = {
  input: 'input_tokens',
  cacheRead: 'cached_input_tokens',
  output: 'output_tokens',
  reasoning: 'reasoning_output_tokens',
}

/** Such an event ends the response. It is repeated when only the rate limits changed, so only a changed total counts as a call. */
function tokenCount(builder: RecordingBuilder, payload: Fields, progress: Progress): void {
  const total = numberOf(at(payload, 'info', 'total_token_usage', 'total_tokens'))
  const usage = usageIn(at(payload, 'info', 'last_token_usage'), USAGE)
  if (usage === undefined || total === undefined || total === progress.totalTokens) return
  progress.totalTokens = total
  if (builder.usage(usage)) progress.inputSince = true
}

/** Replaces the history by the replacement list, or in older files by the summary text. */
function compacted(builder: RecordingBuilder, payload: Fields, line: number): void {
  if (!builder.compact(line)) return
  const replacement = recordsIn(payload['replacement_history'])
  if (replacement.length === 0) {
    const summary = stringOf(payload['message']) ?? ''
    if (summary !== '') builder.user([summary], line)
    return
  }
  for (const item of replacement) {
    if (isModelItem(item)) builder.answer({ pieces: [item], line, isCall: false })
    else builder.user([item], line)
  }
}
