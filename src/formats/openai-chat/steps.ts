import type { StreamEvent } from '../../core/codec.ts'
import { SSE_DONE } from '../framing.ts'
import { parseEvent } from '../kit/streams.ts'
import { isRecord, recordsIn, textOf, type Fields } from '../../core/values.ts'
import { byToolChoice, eventOf, parseInput, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'

/** The parts of a chat answer: its text and reasoning as one, each call as one. */
export const isText = (part: Fields): boolean => part['function'] === undefined && part['custom'] === undefined

const nameOf = (part: Fields): string => (isRecord(part['function']) ? String(part['function']['name']) : '')

export const steps: HiddenWire = {
  list: 'messages',
  admits(fields) {
    // Functions of the old kind have no ids to tell calls apart; of several choices each would need steps of its own.
    const isLegacy = fields['functions'] !== undefined
    const hasChoices = typeof fields['n'] === 'number' && fields['n'] > 1
    return isLegacy || hasChoices || recordsIn(fields['tools']).length === 0 ? 'no' : byToolChoice(fields)
  },
  callOf: (part, isOurs) =>
    isRecord(part['function']) && isOurs(nameOf(part))
      ? { id: String(part['id']), name: nameOf(part), input: parseInput(part['function']['arguments']) }
      : undefined,
  isCall: (part) => !isText(part),
  resultOf: ({ id }, text) => ({ role: 'tool', tool_call_id: id, content: text }),
  continuation: (parts, results) => [messageOf(parts, null), ...results],
  joinsResults: false,
  partsOf: (body) => partsOfMessage(choiceOf(body)?.['message']),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    const [choice, ...others] = recordsIn(last['choices'])
    const message = isRecord(choice?.['message']) ? choice['message'] : {}
    const { tool_calls: _calls, ...rest } = message
    const calls = visible.filter(steps.isCall)
    const text = visible
      .filter(isText)
      .map((part) => textOf(part['content']))
      .join('')
    return {
      ...last,
      choices: [
        {
          ...choice,
          message: { ...rest, content: text === '' ? null : text, tool_calls: calls.length > 0 ? calls : undefined },
          finish_reason: finishOf(choice?.['finish_reason'], calls.length > 0),
        },
        ...others,
      ],
      id: bodies[0]!['id'],
    }
  },
  stream: (isOurs) => new ChatStream(steps, isOurs),
}

const choiceOf = (body: Fields): Fields | undefined => recordsIn(body['choices'])[0]

const finishOf = (reason: unknown, hasCalls: boolean): unknown =>
  reason === 'tool_calls' && !hasCalls ? 'stop' : reason

export function partsOfMessage(message: unknown): readonly Fields[] {
  if (!isRecord(message)) return []
  const { tool_calls: calls, role: _role, ...text } = message
  const hasText = Object.values(text).some((value) => typeof value === 'string' && value !== '')
  return [...(hasText ? [text] : []), ...recordsIn(calls)]
}

/** An assistant's message; `content` stands in it where the parts say nothing. */
export function messageOf(parts: readonly Fields[], content: string | null): Fields {
  const calls = parts.filter((part) => !isText(part))
  const [text] = parts.filter(isText)
  return { role: 'assistant', content, ...text, tool_calls: calls.length > 0 ? calls : undefined }
}

class ChatStream extends VisibleStream {
  /** Number upstream → number that the client sees; undefined for calls of ours. */
  #shown = new Map<number, number | undefined>()
  #shownCalls = 0
  #firstId: unknown
  /** Something was hidden: from there on events are written anew. */
  #changed = false

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (event.data === SSE_DONE) return this.end(event, data)
    if (data === undefined) return ['same']
    this.#firstId ??= data['id']
    const choice = choiceOf(data)
    if (choice === undefined) return isRecord(data['usage']) ? this.end(event, data) : ['same']
    const shown = this.#visibleDelta(isRecord(choice['delta']) ? choice['delta'] : {})
    if ((choice['finish_reason'] ?? null) !== null) {
      const ending = this.#changed ? this.#rewritten(event, data, choice, { delta: shown ?? {} }) : event
      return this.end(ending, ending === event ? data : parseEvent(ending.data))
    }
    if (!this.#changed) return ['same']
    return shown === undefined ? [] : [this.#rewritten(event, data, choice, { delta: shown })]
  }

  /** Undefined when nothing of the delta is for the client. */
  #visibleDelta(delta: Fields): Fields | undefined {
    const { tool_calls: calls, ...rest } = delta
    const kept = recordsIn(calls).flatMap((call) => {
      const number = Number(call['index'] ?? this.#shown.size)
      if (!this.#shown.has(number)) this.#shown.set(number, this.#isOwn(call) ? undefined : this.#shownCalls++)
      const index = this.#shown.get(number)
      return index === undefined ? [] : [{ ...call, index }]
    })
    const says = Object.entries(rest).some(([key, value]) => key !== 'role' && value !== '' && value !== null)
    if (kept.length > 0) return { ...rest, tool_calls: kept }
    // The opening chunk of a later answer says nothing but its role.
    return says || (calls === undefined && this.answers === 0) ? rest : undefined
  }

  #isOwn(call: Fields): boolean {
    const isHidden = this.isHidden(call)
    if (isHidden) this.#changed = true
    return isHidden
  }

  #rewritten(event: StreamEvent, data: Fields, choice: Fields, changes: Fields): StreamEvent {
    return eventOf(event, { ...data, id: this.#firstId, choices: [{ ...choice, ...changes }] })
  }

  protected override ending(event: StreamEvent, data: Fields | undefined): Passed {
    if (data === undefined || !this.#changed) return event
    const choice = choiceOf(data)
    if (choice === undefined) return eventOf(event, { ...data, id: this.#firstId })
    const finish_reason = finishOf(choice['finish_reason'], this.#shownCalls > 0)
    return this.#rewritten(event, data, choice, { finish_reason })
  }

  protected override saidAtTheEnd(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const choice = data === undefined ? undefined : choiceOf(data)
    const delta = isRecord(choice?.['delta']) ? choice['delta'] : {}
    if (typeof delta['content'] !== 'string' || delta['content'] === '') return []
    return [eventOf(event, { ...data, choices: [{ ...choice, finish_reason: null }] })]
  }

  protected override startOver(): void {
    this.#changed = true
    this.#shown = new Map()
  }
}
