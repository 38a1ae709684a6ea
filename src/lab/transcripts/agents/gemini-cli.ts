import { usageIn } from '../../../core/usage.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import type { Piece } from '../shapes.ts'
import { at, jsonText, timeOf } from '../values.ts'

/**
 * Gemini CLI's chat recording: one JSON object with `messages`, or (newer) JSON lines. There, a message with a known id replaces the older one,
 * `$rewindTo` removes a message and all after it, and `$set` changes fields of the session; if `messages` is among them, it replaces the history,
 * as compression does.
 */
export const geminiCli: TranscriptLoader = {
  format: 'gemini-cli',
  recognises(value) {
    if (!isRecord(value)) return false
    if (isRecord(value['$set']) || '$rewindTo' in value || isSession(value)) return true
    return isMessage(value) && 'timestamp' in value && !('uuid' in value)
  },
  load(values, context) {
    const sessions: Session[] = []
    for (const { value, line } of values) {
      if (!isRecord(value)) continue
      if (isSession(value)) {
        sessions.push(newSession())
        for (const message of recordsIn(value['messages'])) addMessage(sessions.at(-1) as Session, message, line)
      } else {
        if (sessions.length === 0) sessions.push(newSession())
        applyChange(sessions.at(-1) as Session, value, line)
      }
    }
    return sessions.map((session) => loadSession(session, context))
  },
}

interface Entry {
  readonly message: Fields
  readonly line: number
  /** Replaces an older history, so it is not a call of this session. */
  readonly isReplacement: boolean
}

/** A new stretch begins where the history is replaced. */
type Session = { readonly line: number; entries: Entry[] }[]

const newSession = (): Session => [{ line: 0, entries: [] }]

const isSession = (value: Fields): boolean =>
  typeof value['sessionId'] === 'string' && ('projectHash' in value || ('startTime' in value && !('type' in value)))

const isMessage = (value: Fields): boolean =>
  ['user', 'gemini', 'info', 'error', 'warning'].includes(stringOf(value['type']) ?? '') &&
  typeof value['id'] === 'string'

function applyChange(session: Session, change: Fields, line: number): void {
  const stretch = session.at(-1) as Session[number]
  const rewindTo = stringOf(change['$rewindTo'])
  if (rewindTo !== undefined) {
    const index = stretch.entries.findIndex(({ message }) => message['id'] === rewindTo)
    stretch.entries = stretch.entries.slice(0, Math.max(0, index))
  } else if (isRecord(change['$set'])) {
    if (Array.isArray(change['$set']['messages'])) replaceHistory(session, recordsIn(change['$set']['messages']), line)
  } else if (isMessage(change)) addMessage(session, change, line)
}

function replaceHistory(session: Session, messages: readonly Fields[], line: number): void {
  const stretch = session.at(-1) as Session[number]
  // The same messages, perhaps without the last ones: a checkpoint or a rollback.
  const known = new Map(stretch.entries.map((entry) => [entry.message['id'], entry]))
  if (messages.every((message) => known.has(message['id']))) {
    stretch.entries = messages.map((message) => ({ ...(known.get(message['id']) as Entry), message }))
  } else if (stretch.entries.length === 0) {
    for (const message of messages) addMessage(session, message, line)
  } else {
    session.push({ line, entries: messages.map((message) => ({ message, line, isReplacement: true })) })
  }
}

function addMessage(session: Session, message: Fields, line: number): void {
  const { entries } = session.at(-1) as Session[number]
  // Usually the newest one: a message is written again while its tools run.
  const index = entries.findLastIndex((entry) => entry.message['id'] === message['id'])
  if (index >= 0) entries[index] = { ...(entries[index] as Entry), message }
  else entries.push({ message, line, isReplacement: false })
}

/** The client sends this by itself to make the model continue. It is not in the file; we add it to keep roles alternating. */
const CONTINUE = 'Please continue.'

function loadSession(session: Session, context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'gemini-cli', wire: 'gemini', ...context })
  for (const [index, { line, entries }] of session.entries()) {
    const replaced = index === 0 || builder.compact(line)
    let modelSpokeLast = false
    for (const entry of entries) {
      if (entry.isReplacement && !replaced) continue
      if (entry.message['type'] === 'user') {
        builder.user(piecesIn(entry.message['content']), entry.line)
        modelSpokeLast = false
      } else if (entry.message['type'] === 'gemini') {
        if (modelSpokeLast) builder.user([CONTINUE], entry.line)
        addAnswer(builder, entry)
        modelSpokeLast = recordsIn(entry.message['toolCalls']).length === 0
      }
    }
  }
  return builder.build()
}

function addAnswer(builder: RecordingBuilder, { message, line, isReplacement }: Entry): void {
  const thoughts = recordsIn(message['thoughts']).map(({ subject, description }) => ({
    thought: true,
    text: [subject, description].map(jsonText).join('\n'),
  }))
  const calls = recordsIn(message['toolCalls'])
  const made = calls.map(({ id, name, args = {} }) => ({ functionCall: { id, name, args } }))
  builder.answer({
    pieces: [...thoughts, ...piecesIn(message['content']), ...made],
    line,
    isCall: !isReplacement,
    model: stringOf(message['model']),
    usage: usageIn(message['tokens'], USAGE),
    at: timeOf(message['timestamp']),
  })
  for (const call of calls) builder.user(resultsIn(call), line)
}

const piecesIn = (content: unknown): readonly Piece[] =>
  [content].flat().filter((part): part is Piece => (typeof part === 'string' && part !== '') || isRecord(part))

/** The function's response, and the media that came with it. */
function resultsIn({ id, name, result, status }: Fields): readonly Piece[] {
  const responseOf = (response: unknown): Fields => ({ functionResponse: { id, name, response } })
  if (typeof result === 'string') return [responseOf({ [status === 'error' ? 'error' : 'output']: result })]
  let answered = false
  return recordsIn([result].flat()).map((part) => {
    const response = at(part, 'functionResponse', 'response')
    if (response === undefined || answered) return part
    answered = true
    return responseOf(response)
  })
}

const USAGE = {
  input: 'input',
  cacheRead: 'cached',
  output: ['output', 'thoughts'],
  reasoning: 'thoughts',
}
