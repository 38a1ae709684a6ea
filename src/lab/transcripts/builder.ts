import { PlimsollError } from '../../core/errors.ts'
import type { Usage } from '../../core/usage.ts'
import { isRecord } from '../../core/values.ts'
import type {
  LoadOptions,
  Part,
  Problem,
  RecordedCall,
  RecordedCompaction,
  RecordedTool,
  RecordedTurn,
  Recording,
  TranscriptFormat,
  Wire,
  WireMessage,
} from './recording.ts'
import { type Rendered, SHAPES, type WireShape } from './shapes.ts'

export interface BuilderInit {
  readonly format: TranscriptFormat
  readonly file: string
  readonly name?: string
  readonly wire: Wire
  readonly options: LoadOptions
  readonly problems: Problem[]
}

export interface Answer {
  /** Lines of one response share it; without it, each answer is a response of its own. */
  readonly id?: string
  readonly parts: readonly Part[]
  readonly line: number
  readonly usage?: Usage
  readonly outputPartial?: true
  readonly model?: string
  readonly at?: number
  /** False for history that no call of this recording produced: a greeting, a replacement after compaction. */
  readonly isCall?: boolean
}

interface MutableCall {
  from: number
  to: number
  line: number
  parts: Part[]
  usage?: Usage
  outputPartial?: true
  model?: string
  at?: number
}

interface Open {
  id: string | undefined
  parts: Part[]
  line: number
  call: MutableCall | undefined
}

const NO_RESULT = '[no result was recorded]'

/**
 * Puts a recording together from what a loader reads, in order: what the user said, what tools returned, what the model
 * answered. Answers of one response are joined, calls and results are paired as the wires demand, and every repair is
 * reported as a problem with its line.
 */
export class RecordingBuilder {
  readonly #init: BuilderInit
  readonly #shape: WireShape
  readonly #messages: WireMessage[] = []
  readonly #calls: MutableCall[] = []
  readonly #compactions: RecordedCompaction[] = []
  readonly #system: string[] = []
  readonly #callIds = new CallIds()
  #tools: readonly RecordedTool[] = []
  #open: Open | undefined
  #pending: { part: Part; line: number }[] = []
  #segmentStart = 0
  #model: string | undefined

  constructor(init: BuilderInit) {
    this.#init = init
    this.#shape = SHAPES[init.wire]
  }

  /** Text of the system prompt. Later ones are added behind it. */
  system(text: string): void {
    if (text !== '' && !this.#system.includes(text)) this.#system.push(text)
  }

  tools(tools: readonly RecordedTool[]): void {
    if (tools.length > 0) this.#tools = tools
  }

  model(model: string | undefined): void {
    this.#model ??= model
  }

  user(parts: readonly Part[], line: number): void {
    for (const part of this.#callIds.result(parts)) this.#pending.push({ part, line })
  }

  answer(answer: Answer): void {
    this.model(answer.model)
    const open = this.#open
    const continues = open !== undefined && answer.id !== undefined && open.id === answer.id && this.#joins(open)
    const { parts, repairs } = this.#callIds.answer(answer.parts, continues)
    for (const repair of repairs) this.problem(answer.line, repair)
    if (continues) {
      open.parts.push(...this.#sent(parts))
      open.call?.parts.push(...parts)
      // Later lines of a response may know more of its output.
      if (open.call !== undefined && (answer.usage?.output ?? 0) > (open.call.usage?.output ?? 0)) {
        open.call.usage = answer.usage
      }
      return
    }
    this.#flush()
    const call = answer.isCall === false ? undefined : this.#recordCall(answer, parts)
    this.#open = { id: answer.id, parts: [...this.#sent(parts)], line: answer.line, call }
  }

  /** Usage that the recording reports apart from the answer goes to the newest call without one. */
  usage(usage: Usage): boolean {
    const call = this.#calls.at(-1)
    if (call === undefined || call.usage !== undefined) return false
    call.usage = usage
    return true
  }

  /**
   * The client compacted here. Returns false when everything is resent: the loader then leaves out what the compaction
   * put in place of the history.
   */
  compact(line: number, tokensBefore?: number): boolean {
    this.#flush()
    this.#compactions.push({ line, beforeCall: this.#calls.length, tokensBefore })
    if (this.#init.options.resend === 'everything') return false
    this.#segmentStart = this.#messages.length
    return true
  }

  /** After `compact`: the messages from this line on were kept. Results whose call was cut away stay out. */
  repeatFrom(line: number): void {
    this.#flush()
    const kept = this.#messages.slice(0, this.#segmentStart).filter((message) => message.line >= line)
    const start = kept.findIndex((message) => !message.parts.some((part) => part.kind === 'result'))
    if (start >= 0) this.#messages.push(...kept.slice(start))
  }

  /** The user went back: the messages up to this line stand, what came after is no longer sent. */
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
    const messages = this.#messages
    const system = this.#system.length > 0 ? this.#system.join('\n\n') : undefined
    const tools = this.#tools
    const bodyOf = (call: MutableCall): string => {
      const { before, after } = this.#shape.envelope({ system, tools, model: call.model ?? this.#model ?? 'unknown' })
      const texts: string[] = []
      for (let i = call.from; i < call.to; i++) texts.push((messages[i] as WireMessage).json())
      const separator = texts.length === 0 && before.endsWith(',') ? before.slice(0, -1) : before
      return separator + texts.join(',') + after
    }
    const calls = this.#calls.map((call, index): RecordedCall => {
      const { from, to, line } = call
      return {
        index,
        wire,
        from,
        to,
        line,
        response: turnOf(call.parts),
        model: call.model,
        usage: call.usage,
        outputPartial: call.outputPartial,
        at: call.at,
        body: () => bodyOf(call),
      }
    })
    return {
      format,
      file,
      name,
      wire,
      model: this.#model,
      system,
      tools,
      messages,
      calls,
      compactions: this.#compactions,
      problems,
    }
  }

  #sent(parts: readonly Part[]): readonly Part[] {
    return this.#init.options.thinking === 'drop' ? parts.filter(isNotReasoning) : parts
  }

  #recordCall(answer: Answer, parts: readonly Part[]): MutableCall {
    const call: MutableCall = {
      from: this.#segmentStart,
      to: this.#messages.length,
      line: answer.line,
      parts: [...parts],
      usage: answer.usage,
      outputPartial: answer.outputPartial,
      model: answer.model,
      at: answer.at,
    }
    this.#calls.push(call)
    return call
  }

  /** Lines of one response stay one answer; `as-written` splits them where a result came in between, if pairs allow it. */
  #joins(open: Open): boolean {
    if (this.#init.options.parallel !== 'as-written' || this.#pending.length === 0) return true
    return (
      unanswered(
        open.parts,
        this.#pending.map(({ part }) => part),
      ).length > 0
    )
  }

  #flush(last = false): void {
    const open = this.#open
    const pending = this.#pending
    this.#pending = []
    this.#open = undefined
    if (open !== undefined) this.#push(this.#shape.fromModel(open.parts), open.line)
    const called = new Set((open?.parts ?? []).filter(isOwedCall).map((part) => part.callId))
    const answered = new Set<string | undefined>()
    const parts: Part[] = []
    for (const { part, line } of pending) {
      if (part.kind === 'result' && !called.has(part.callId)) {
        this.problem(line, `A tool result answers no open call (${part.callId ?? 'no id'}); left out.`)
      } else if (part.kind === 'result' && answered.has(part.callId)) {
        this.problem(line, `A second result for call ${part.callId ?? ''}; left out.`)
      } else {
        if (part.kind === 'result') answered.add(part.callId)
        parts.push(part)
      }
    }
    for (const call of unanswered(open?.parts ?? [], parts)) {
      // Nothing follows the last answer, so nothing is missing there.
      if (last && parts.length === 0) break
      this.problem(
        open?.line ?? 0,
        `Call ${call.callId ?? ''} (${call.toolName ?? '?'}) has no result; a note stands in its place.`,
      )
      parts.push({
        kind: 'result',
        text: NO_RESULT,
        isError: true,
        callId: call.callId,
        toolName: call.toolName,
      })
    }
    this.#push(this.#shape.fromUser(parts), pending[0]?.line ?? open?.line ?? 0)
  }

  #push(rendered: readonly Rendered[], line: number): void {
    for (const one of rendered) this.#messages.push(lazyMessage(one, line))
  }
}

const isNotReasoning = (part: Part): boolean => part.kind !== 'reasoning'
/** A call that a result message must answer; the provider answers its own. */
const isOwedCall = (part: Part): boolean => part.kind === 'call' && part.serverSide !== true

/** Calls of an answer that nothing since has answered. */
function unanswered(answer: readonly Part[], since: readonly Part[]): readonly Part[] {
  const answered = new Set(since.filter((part) => part.kind === 'result').map((part) => part.callId))
  return answer.filter((part) => isOwedCall(part) && !answered.has(part.callId))
}

function lazyMessage(rendered: Rendered, line: number): WireMessage {
  let text: string | undefined
  const { role, parts } = rendered
  return { role, parts, line, json: () => (text ??= write(rendered)) }
}

function turnOf(parts: readonly Part[]): RecordedTurn {
  const textOf = (kind: Part['kind']) =>
    parts
      .filter((part) => part.kind === kind)
      .map((part) => part.text)
      .join('\n')
  return {
    parts,
    text: textOf('assistant'),
    reasoning: textOf('reasoning'),
    calls: parts.filter((part) => part.kind === 'call'),
  }
}

/** Reading JSON takes any depth, writing it does not. */
function write(rendered: Rendered): string {
  try {
    return JSON.stringify(rendered.value())
  } catch (cause) {
    throw new PlimsollError('bad-input', 'A recorded message is nested too deep to be written.', { cause })
  }
}

const ID_KEYS = new Set(['id', 'call_id', 'tool_call_id', 'tool_use_id'])

/**
 * Some servers begin their call ids anew in each response. A history with two calls of one id is ambiguous and refused by strict
 * wires, so later ones get an id of their own, and so do the results that answer them.
 */
class CallIds {
  readonly #used = new Set<string>()
  /** Ids of the newest response, as recorded, and those of them that were changed. */
  #inResponse = new Set<string>()
  #renamed = new Map<string, string>()

  /** Takes an answer's parts in. `continues`: more of the same response, so what was renamed before stays renamed. */
  answer(parts: readonly Part[], continues: boolean): RepairedAnswer {
    if (!continues) {
      this.#renamed = new Map()
      this.#inResponse = new Set()
    }
    const repairs: string[] = []
    const twice = new Set<Part>()
    for (const part of parts) {
      const { kind, callId } = part
      if (kind !== 'call' || callId === undefined) continue
      if (this.#inResponse.has(callId)) {
        twice.add(part)
        repairs.push(`Call ${callId} stands twice in one response; the second is left out.`)
      } else if (this.#used.has(callId)) {
        this.#renamed.set(callId, this.#freshId(callId))
        repairs.push(`Call id ${callId} was used before; this call got one of its own.`)
      }
      this.#inResponse.add(callId)
      this.#used.add(callId)
    }
    return { parts: this.result(without(parts, twice)), repairs }
  }

  /** Results follow the calls that they answer. */
  result(parts: readonly Part[]): readonly Part[] {
    if (this.#renamed.size === 0) return parts
    const rewritten = new Map<unknown, unknown>()
    return parts.map((part) => {
      const callId = part.callId === undefined ? undefined : this.#renamed.get(part.callId)
      // Parts that share a raw value must go on sharing it, renamed themselves or not.
      const raw = part.raw === undefined ? undefined : this.#rewrite(part.raw, rewritten)
      if (callId === undefined && raw === part.raw) return part
      return { ...part, callId: callId ?? part.callId, raw }
    })
  }

  #freshId(id: string): string {
    let number = 2
    while (this.#used.has(`${id}_${number}`)) number++
    const fresh = `${id}_${number}`
    this.#used.add(fresh)
    return fresh
  }

  #rewrite(raw: unknown, rewritten: Map<unknown, unknown>): unknown {
    const known = rewritten.get(raw)
    if (known !== undefined) return known
    const value = this.#replaceIds(raw)
    rewritten.set(raw, value)
    return value
  }

  /** Ids stand at most two levels deep on every wire: a block, or a message with its list of calls. */
  #replaceIds(value: unknown, depth = 0): unknown {
    if (!isRecord(value) || depth > 1) return value
    let changed = false
    const entries = Object.entries(value).map(([key, field]) => {
      const fresh = ID_KEYS.has(key) && typeof field === 'string' ? this.#renamed.get(field) : undefined
      const next =
        fresh ??
        (key === 'tool_calls' && Array.isArray(field) ? field.map((call) => this.#replaceIds(call, depth + 1)) : field)
      if (next !== field) changed = true
      return [key, next] as const
    })
    return changed ? Object.fromEntries(entries) : value
  }
}

interface RepairedAnswer {
  readonly parts: readonly Part[]
  /** What was done, in words. */
  readonly repairs: readonly string[]
}

/** Parts that shared a raw value with one that is left out are written anew. */
function without(parts: readonly Part[], left: ReadonlySet<Part>): readonly Part[] {
  if (left.size === 0) return parts
  const stale = new Set([...left].map((part) => part.raw))
  return parts
    .filter((part) => !left.has(part))
    .map((part) => {
      if (part.raw === undefined || !stale.has(part.raw)) return part
      const { raw: _, ...rest } = part
      return rest
    })
}
