import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader, SourceValue } from '../recording.ts'
import { piecesOf, usageOn } from '../shapes.ts'
import { at, timeOf } from '../values.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf } from '../../../core/values.ts'

/** Line types beside the messages, which never reach the model. */
const SIDE_TYPES = new Set([
  'summary',
  'file-history-snapshot',
  'queue-operation',
  'progress',
  'custom-title',
  'agent-name',
])

/**
 * Claude Code's session file. One response has several lines with the same `message.id`, each with its usage; `toolUseResult` repeats the result
 * for the user interface. The system prompt and the tools are not in the file.
 */
export const claudeCode: TranscriptLoader = {
  format: 'claude-code',

  recognises(value) {
    if (!isRecord(value)) return false
    const type = stringOf(value['type'])
    if (type === 'user' || type === 'assistant') return isRecord(value['message']) && 'uuid' in value
    if (type === 'system') return 'uuid' in value && 'parentUuid' in value
    return type !== undefined && SIDE_TYPES.has(type)
  },

  load(values, context) {
    const agents = splitAgents(values)
    return [...agents].map(([name, lines]) => loadAgent(lines, context, name))
  },
}

/** Separates sub-agents' lines, which may stand between those of the main conversation, into conversations of their own. */
function splitAgents(values: readonly SourceValue[]): Map<string, readonly SourceValue[]> {
  const agents = new Map<string, SourceValue[]>()
  for (const entry of values) {
    if (!isRecord(entry.value)) continue
    const side = entry.value['isSidechain'] === true
    const name = side ? (stringOf(entry.value['agentId']) ?? 'sidechain') : ''
    const lines = agents.get(name)
    if (lines === undefined) agents.set(name, [entry])
    else lines.push(entry)
  }
  // The file of a sub-agent has only side lines, or one line before them that belongs to no conversation.
  if (agents.size > 1 && !(agents.get('') ?? []).some(({ value }) => isRecord(value) && isRecord(value['message']))) {
    agents.delete('')
  }
  return agents
}

function loadAgent(values: readonly SourceValue[], context: LoadContext, name: string): Recording {
  const builder = new RecordingBuilder({
    format: 'claude-code',
    wire: 'anthropic-messages',
    ...context,
    name: name === '' ? undefined : name,
  })
  const everything = context.options.resend === 'everything'
  const seen = new Set<string>()
  const branches = new Branches()
  for (const { value, line } of values) {
    if (!isRecord(value)) continue
    // A resumed session copies the lines of the previous one.
    const uuid = stringOf(value['uuid'])
    if (uuid !== undefined && seen.has(uuid)) continue
    if (uuid !== undefined) seen.add(uuid)
    const rewound = branches.add(value, line)
    if (rewound !== undefined) builder.rewindTo(rewound)
    if (value['type'] === 'system' && value['subtype'] === 'compact_boundary') {
      builder.compact(line, numberOf(at(value, 'compactMetadata', 'preTokens')))
    } else if (value['type'] === 'user' && isRecord(value['message'])) {
      if (everything && value['isCompactSummary'] === true) continue
      builder.user(piecesOf(value['message']['content']), line)
    } else if (value['type'] === 'assistant' && isRecord(value['message'])) {
      addAnswer(builder, value, value['message'], line)
    }
  }
  return builder.build()
}

interface Link {
  readonly parent: string | undefined
  /** The id of the response that the line belongs to. */
  readonly answer: string | undefined
  readonly isMessage: boolean
  readonly line: number
}

/** Detects that the user went back: a prompt then follows a line older than the newest answer. */
class Branches {
  readonly #links = new Map<string, Link>()
  #newestAnswer: string | undefined

  /** The line to go back to, if this one does not continue the newest answer. */
  add(value: Fields, line: number): number | undefined {
    const uuid = stringOf(value['uuid'])
    if (uuid === undefined) return undefined
    const parent = stringOf(value['parentUuid'])
    const answer = value['type'] === 'assistant' ? stringOf(at(value, 'message', 'id')) : undefined
    this.#links.set(uuid, { parent, answer, isMessage: isRecord(value['message']), line })
    if (answer !== undefined) this.#newestAnswer = answer
    // A compaction begins a new tree.
    if (value['subtype'] === 'compact_boundary') this.#newestAnswer = undefined
    return isPrompt(value) && parent !== undefined ? this.#leaves(parent) : undefined
  }

  #leaves(parent: string): number | undefined {
    if (this.#newestAnswer === undefined) return undefined
    let backTo: number | undefined
    for (let next: string | undefined = parent; next !== undefined;) {
      const link: Link | undefined = this.#links.get(next)
      // If the parents lead out of the file, it is unknown whether the user went back.
      if (link === undefined || link.answer === this.#newestAnswer) return undefined
      if (link.isMessage) backTo ??= link.line
      next = link.parent
    }
    this.#newestAnswer = undefined
    return backTo ?? 0
  }
}

/** Text that the user typed; results and reminders have other parents. */
const isPrompt = (value: Fields): boolean =>
  value['type'] === 'user' &&
  value['isMeta'] !== true &&
  value['isCompactSummary'] !== true &&
  !recordsIn(at(value, 'message', 'content')).some((block) => block['type'] === 'tool_result')

function addAnswer(builder: RecordingBuilder, value: Fields, message: Fields, line: number): void {
  const model = stringOf(message['model'])
  // The client writes these itself after an error or a local command, without a model call.
  if (model === '<synthetic>') return
  builder.answer({
    pieces: piecesOf(message['content']),
    line,
    outputPartial: true,
    id: stringOf(message['id']),
    model,
    usage: usageOn('anthropic-messages', message['usage']),
    at: timeOf(value['timestamp']),
  })
}
