import type { Usage } from '../../core/usage.ts'
import { CallIds } from './call-ids.ts'
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
import { SHAPES } from './shapes/index.ts'
import type { Rendered, WireShape } from './shapes/shape.ts'
import { isNotReasoning, isOwedCall, lazyMessage, turnOf, unanswered } from './turn-parts.ts'
import { optional } from './values.ts'

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
        Object.assign(open.call, optional('usage', answer.usage))
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
    this.#compactions.push({ line, beforeCall: this.#calls.length, ...optional('tokensBefore', tokensBefore) })
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
        ...optional('model', call.model),
        ...optional('usage', call.usage),
        ...optional('outputPartial', call.outputPartial),
        ...optional('at', call.at),
        body: () => bodyOf(call),
      }
    })
    return {
      format,
      file,
      ...optional('name', name),
      wire,
      ...optional('model', this.#model),
      ...optional('system', system),
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
      ...optional('usage', answer.usage),
      ...optional('outputPartial', answer.outputPartial),
      ...optional('model', answer.model),
      ...optional('at', answer.at),
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
        ...optional('callId', call.callId),
        ...optional('toolName', call.toolName),
      })
    }
    this.#push(this.#shape.fromUser(parts), pending[0]?.line ?? open?.line ?? 0)
  }

  #push(rendered: readonly Rendered[], line: number): void {
    for (const one of rendered) this.#messages.push(lazyMessage(one, line))
  }
}
