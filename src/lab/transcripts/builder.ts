import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../core/values.ts'
import type {
  LoadOptions,
  Part,
  Problem,
  RecordedCall,
  RecordedCompaction,
  RecordedTool,
  Recording,
  TranscriptFormat,
  Wire,
  WireMessage,
} from './recording.ts'
import { partsOf, type Piece, SHAPES, type Side } from './shapes.ts'
import { withoutKeys } from './values.ts'

interface BuilderInit {
  readonly format: TranscriptFormat
  readonly file: string
  readonly name?: string
  readonly wire: Wire
  readonly options: LoadOptions
  readonly problems: Problem[]
}

interface Answer {
  /** The same for all lines of one response; without it, each answer is a response of its own. */
  readonly id?: string
  readonly pieces: readonly Piece[]
  readonly line: number
  readonly usage?: Usage
  readonly outputPartial?: true
  readonly model?: string
  readonly at?: number
  /** False for history that no call of this recording produced: a greeting, a replacement after compaction. */
  readonly isCall?: boolean
}

/** A piece and the items that the codec reads in it. */
interface ReadPiece {
  readonly piece: Piece
  readonly parts: readonly Part[]
}

interface OpenCall extends Pick<RecordedCall, 'from' | 'to' | 'line' | 'outputPartial' | 'model' | 'at'> {
  readonly parts: Part[]
  usage?: Usage
}

/** The newest answer, until the next line shows that it is complete. */
interface OpenAnswer {
  readonly id: string | undefined
  readonly pieces: ReadPiece[]
  readonly line: number
  readonly call: OpenCall | undefined
}

const NO_RESULT = '[no result was recorded]'

/**
 * Builds a recording from what a loader reads, in order: user messages, tool results, answers. Joins the lines of one response, pairs calls with
 * results as the wires require, and reports each repair as a problem with its line.
 */
export class RecordingBuilder {
  readonly #init: BuilderInit
  readonly #messages: WireMessage[] = []
  readonly #calls: OpenCall[] = []
  readonly #compactions: RecordedCompaction[] = []
  readonly #system: string[] = []
  readonly #callIds = new CallIds()
  #tools: readonly RecordedTool[] = []
  #open: OpenAnswer | undefined
  #pending: (ReadPiece & { readonly line: number })[] = []
  #segmentStart = 0
  #model: string | undefined

  constructor(init: BuilderInit) {
    this.#init = init
  }

  /** Text of the system prompt; later ones are appended. */
  system(text: string): void {
    if (text !== '' && !this.#system.includes(text)) this.#system.push(text)
  }

  tools(tools: readonly RecordedTool[]): void {
    if (tools.length > 0) this.#tools = tools
  }

  model(model: string | undefined): void {
    this.#model ??= model
  }

  user(pieces: readonly Piece[], line: number): void {
    for (const read of this.#callIds.results(this.#read('user', pieces, line))) this.#pending.push({ ...read, line })
  }

  answer(answer: Answer): void {
    this.model(answer.model)
    const { id, line, usage, outputPartial, model, at } = answer
    const open = this.#open
    const continues = open !== undefined && id !== undefined && open.id === id && this.#joins(open)
    const { pieces, repairs } = this.#callIds.answer(this.#read('assistant', answer.pieces, line), continues)
    for (const repair of repairs) this.problem(line, repair)
    const parts = pieces.flatMap((read) => read.parts)
    if (continues) {
      open.pieces.push(...pieces)
      open.call?.parts.push(...parts)
      // Later lines of a response may have a higher output count.
      if (open.call !== undefined && (usage?.output ?? 0) > (open.call.usage?.output ?? 0)) open.call.usage = usage
      return
    }
    this.#flush()
    const [from, to] = [this.#segmentStart, this.#messages.length]
    const call = answer.isCall === false ? undefined : { from, to, line, parts, usage, outputPartial, model, at }
    if (call !== undefined) this.#calls.push(call)
    this.#open = { id, pieces: [...pieces], line, call }
  }

  /** Adds one message of a Chat Completions history without changing it. */
  chat(message: Fields, meta: Omit<Answer, 'pieces'>): void {
    if (message['role'] === 'assistant') this.answer({ pieces: [message], ...meta })
    else this.user([message], meta.line)
  }

  /** Usage that is reported apart from the answer belongs to the newest call without usage. */
  usage(usage: Usage): boolean {
    const call = this.#calls.at(-1)
    if (call === undefined || call.usage !== undefined) return false
    call.usage = usage
    return true
  }

  /** The client compacted here. Returns false when everything is resent; the loader then leaves out what the client put in place of the history. */
  compact(line: number, tokensBefore?: number): boolean {
    this.#flush()
    this.#compactions.push({ line, beforeCall: this.#calls.length, tokensBefore })
    if (this.#init.options.resend === 'everything') return false
    this.#segmentStart = this.#messages.length
    return true
  }

  /** After `compact`: the messages from this line on were kept. Results whose calls were removed are left out. */
  repeatFrom(line: number): void {
    this.#flush()
    const kept = this.#messages.slice(0, this.#segmentStart).filter((message) => message.line >= line)
    const start = kept.findIndex((message) => !message.parts.some((part) => part.kind === 'result'))
    if (start >= 0) this.#messages.push(...kept.slice(start))
  }

  /** The user went back: messages up to this line stay, later ones are no longer sent. */
  rewindTo(line: number): void {
    this.#flush()
    const kept = this.#messages.slice(this.#segmentStart).filter((message) => message.line <= line)
    this.#segmentStart = this.#messages.length
    this.#messages.push(...kept)
  }

  problem(line: number, message: string): void {
    this.#init.problems.push({ line, message })
  }

  build(): Recording {
    this.#flush(true)
    const { format, file, name, wire, problems } = this.#init
    const [messages, tools, model] = [this.#messages, this.#tools, this.#model]
    const system = this.#system.length > 0 ? this.#system.join('\n\n') : undefined
    const bodyOf = (call: OpenCall): string => {
      const head = { system, tools, model: call.model ?? model ?? 'unknown' }
      const { before, after } = SHAPES[wire].envelope(head)
      const texts = messages.slice(call.from, call.to).map((message) => message.json())
      const opening = texts.length === 0 && before.endsWith(',') ? before.slice(0, -1) : before
      return opening + texts.join(',') + after
    }
    const calls = this.#calls.map(({ parts, ...call }, index): RecordedCall => ({
      ...call,
      index,
      response: { parts },
      body: () => bodyOf({ parts, ...call }),
    }))
    const compactions = this.#compactions
    return { format, file, name, wire, model, system, tools, messages, calls, compactions, problems }
  }

  #read(side: Side, pieces: readonly Piece[], line: number): readonly ReadPiece[] {
    const { wire } = this.#init
    return pieces.flatMap((piece) => {
      const parts = partsOf(wire, SHAPES[wire].elements(side, [piece]))
      if (parts === undefined) this.problem(line, 'A part of a message is damaged, or nested too deep; left out.')
      return parts === undefined ? [] : [{ piece, parts }]
    })
  }

  /** Lines of one response are joined. `as-written` splits them where a result came between, if pairs allow it. */
  #joins(open: OpenAnswer): boolean {
    if (this.#init.options.parallel !== 'as-written' || this.#pending.length === 0) return true
    return unanswered(open.pieces, this.#pending).length > 0
  }

  #flush(last = false): void {
    const open = this.#open
    const pending = this.#pending
    this.#pending = []
    this.#open = undefined
    if (open !== undefined) this.#push('assistant', open.pieces, open.line)
    const called = new Set((open?.pieces ?? []).flatMap(clientCalls).map((part) => part.callId))
    const answered = new Set<string | undefined>()
    const kept: ReadPiece[] = []
    for (const read of pending) {
      const result = read.parts.find((part) => part.kind === 'result')
      if (result !== undefined && !called.has(result.callId)) {
        this.problem(read.line, `A tool result answers no open call (${result.callId ?? 'no id'}); left out.`)
      } else if (result !== undefined && answered.has(result.callId)) {
        this.problem(read.line, `A second result for call ${result.callId ?? ''}; left out.`)
      } else {
        if (result !== undefined) answered.add(result.callId)
        kept.push(read)
      }
    }
    // Nothing follows the last answer, so its results are not missing.
    const missing = last && kept.length === 0 ? [] : unanswered(open?.pieces ?? [], kept)
    for (const { callId, toolName } of missing) {
      const what = `Call ${callId ?? ''} (${toolName ?? '?'}) has no result; a note was added instead.`
      this.problem(open?.line ?? 0, what)
      kept.push({ piece: SHAPES[this.#init.wire].result(callId, toolName, NO_RESULT), parts: [] })
    }
    this.#push('user', kept, pending[0]?.line ?? open?.line ?? 0)
  }

  #push(side: Side, read: readonly ReadPiece[], line: number): void {
    const { wire, options } = this.#init
    const { sendable, elements } = SHAPES[wire]
    const sent = read.map(({ piece }) => sendable(piece, options.thinking !== 'drop'))
    const kept = sent.filter((piece) => piece !== undefined)
    for (const element of elements(side, kept)) this.#messages.push(messageOf(wire, element, line))
  }
}

/** One element of a history. Its JSON text is written on first use and reused by each later body. */
export function messageOf(wire: Wire, element: Fields, line: number): WireMessage {
  let text: string | undefined
  const parts = partsOf(wire, [element]) ?? []
  return { role: parts[0]?.role ?? 'user', parts, line, json: () => (text ??= JSON.stringify(element)) }
}

/** Calls that the client's result message must answer; the provider answers its own. */
const clientCalls = ({ parts }: ReadPiece): readonly Part[] =>
  parts.filter((part) => part.kind === 'call' && part.serverSide !== true)

/** Calls of an answer that have no result yet. */
function unanswered(answer: readonly ReadPiece[], since: readonly ReadPiece[]): readonly Part[] {
  const results = since.flatMap(({ parts }) => parts.filter((part) => part.kind === 'result'))
  const answered = new Set(results.map((part) => part.callId))
  return answer.flatMap(clientCalls).filter((part) => !answered.has(part.callId))
}

const ID_KEYS = new Set(['id', 'call_id', 'tool_call_id', 'tool_use_id'])

/** Members with ids of their own: the calls of a chat message, and the contents of a Gemini part. */
const ID_HOLDERS = new Set(['tool_calls', 'functionCall', 'functionResponse'])

/**
 * Some servers restart call ids in each response. A history with two calls of one id is ambiguous and refused by strict wires, so later calls and
 * their results get new ids.
 */
class CallIds {
  readonly #used = new Set<string>()
  /** Ids of the newest response as recorded, and new ids for those that were taken. */
  #inResponse = new Set<string>()
  #renamed = new Map<string, string>()

  /** Adds an answer. `continues`: it belongs to the same response, so the renamed ids still apply. */
  answer(
    pieces: readonly ReadPiece[],
    continues: boolean,
  ): { readonly pieces: readonly ReadPiece[]; readonly repairs: readonly string[] } {
    if (!continues) {
      this.#renamed = new Map()
      this.#inResponse = new Set()
    }
    const repairs: string[] = []
    const once = pieces.flatMap((read) => this.#withoutRepeats(read, repairs))
    return { pieces: this.results(once), repairs }
  }

  /** Renames results like the calls that they answer. */
  results(pieces: readonly ReadPiece[]): readonly ReadPiece[] {
    if (this.#renamed.size === 0) return pieces
    return pieces.map(({ piece, parts }) => ({
      piece: this.#replaceIds(piece) as Piece,
      parts: parts.map((part) => ({ ...part, callId: this.#renamed.get(part.callId ?? '') ?? part.callId })),
    }))
  }

  /** The piece without calls that the response already contains. */
  #withoutRepeats({ piece, parts }: ReadPiece, repairs: string[]): readonly ReadPiece[] {
    const twice = new Set<Part>()
    for (const part of parts) {
      const { kind, callId } = part
      if (kind !== 'call' || callId === undefined) continue
      if (this.#inResponse.has(callId)) {
        twice.add(part)
        repairs.push(`Call ${callId} occurs twice in one response; the second is left out.`)
      } else if (this.#used.has(callId)) {
        this.#renamed.set(callId, this.#freshId(callId))
        repairs.push(`Call id ${callId} was used before; this call got a new id.`)
      }
      this.#inResponse.add(callId)
      this.#used.add(callId)
    }
    if (twice.size === 0) return [{ piece, parts }]
    const left = parts.filter((part) => !twice.has(part))
    if (left.length === 0 || typeof piece === 'string') return []
    // Only a chat message has several parts: the entries of its list are in the order of the calls.
    const calls = parts.filter((part) => part.kind === 'call')
    const entries = recordsIn(piece['tool_calls']).filter((_, index) => !twice.has(calls[index]!))
    const rest = withoutKeys(piece, ['tool_calls'])
    return [{ piece: entries.length > 0 ? { ...rest, tool_calls: entries } : rest, parts: left }]
  }

  #freshId(id: string): string {
    let number = 2
    while (this.#used.has(`${id}_${number}`)) number++
    const fresh = `${id}_${number}`
    this.#used.add(fresh)
    return fresh
  }

  #replaceIds(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.#replaceIds(entry))
    if (!isRecord(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => {
        if (ID_HOLDERS.has(key)) return [key, this.#replaceIds(field)]
        const fresh = ID_KEYS.has(key) ? this.#renamed.get(stringOf(field) ?? '') : undefined
        return [key, fresh ?? field]
      }),
    )
  }
}
