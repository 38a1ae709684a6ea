import type { StreamEvent } from '../../core/codec.ts'
import { SSE_DONE } from '../framing.ts'
import { isRecord, recordsIn, textOf, type Fields } from '../../core/values.ts'
import {
  byToolChoice,
  eventOf,
  parseData,
  parseInput,
  type HiddenWire,
  type IsOurs,
  type Passed,
  type VisibleStream,
} from '../wire/steps.ts'

/** The parts of a chat answer: its text and reasoning as one, each call as one. */
const isText = (part: Fields): boolean => part['function'] === undefined && part['custom'] === undefined

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
  continuation: (parts, results) => [messageOf(parts), ...results],
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
  stream: (isOurs) => new ChatStream(isOurs),
}

const choiceOf = (body: Fields): Fields | undefined => recordsIn(body['choices'])[0]

const finishOf = (reason: unknown, hasCalls: boolean): unknown =>
  reason === 'tool_calls' && !hasCalls ? 'stop' : reason

function partsOfMessage(message: unknown): readonly Fields[] {
  if (!isRecord(message)) return []
  const { tool_calls: calls, role: _role, ...text } = message
  const hasText = Object.values(text).some((value) => typeof value === 'string' && value !== '')
  return [...(hasText ? [text] : []), ...recordsIn(calls)]
}

function messageOf(parts: readonly Fields[]): Fields {
  const calls = parts.filter(steps.isCall)
  const [text] = parts.filter(isText)
  return { role: 'assistant', content: null, ...text, tool_calls: calls.length > 0 ? calls : undefined }
}

interface CallDraft {
  id: string
  name: string
  arguments: string
  hidden: boolean
  shown: number
}

class ChatStream implements VisibleStream {
  readonly #isOurs: IsOurs
  #calls = new Map<number, CallDraft>()
  #text: Record<string, string> = {}
  #held: StreamEvent[] = []
  #firstId: unknown
  #answers = 0
  #shownCalls = 0
  #changed = false

  constructor(isOurs: IsOurs) {
    this.#isOurs = isOurs
  }

  push(event: StreamEvent): readonly Passed[] {
    if (event.data === SSE_DONE) return this.#end(event)
    const data = parseData(event)
    if (data === undefined) return ['same']
    this.#firstId ??= data['id']
    const choice = choiceOf(data)
    if (choice === undefined) return isRecord(data['usage']) ? this.#end(event) : ['same']
    const delta = isRecord(choice['delta']) ? choice['delta'] : {}
    this.#read(delta)
    const shown = this.#visibleDelta(delta)
    const ends = choice['finish_reason'] !== undefined && choice['finish_reason'] !== null
    if (ends) return this.#end(this.#changed ? this.#rewritten(event, data, choice, shown ?? {}) : event)
    if (!this.#changed) return ['same']
    return shown === undefined ? [] : [this.#rewritten(event, data, choice, shown)]
  }

  #end(event: StreamEvent): readonly Passed[] {
    if (!this.#hidesCalls()) return [this.#ending(event)]
    this.#held.push(event)
    return []
  }

  #hidesCalls(): boolean {
    return [...this.#calls.values()].some((call) => call.hidden)
  }

  #read(delta: Fields): void {
    for (const [key, value] of Object.entries(delta)) {
      if (typeof value === 'string' && key !== 'role') this.#text[key] = (this.#text[key] ?? '') + value
    }
    for (const call of recordsIn(delta['tool_calls'])) {
      const index = Number(call['index'] ?? this.#calls.size)
      const fields = isRecord(call['function']) ? call['function'] : {}
      const draft = this.#calls.get(index) ?? this.#newCall(textOf(fields['name']))
      this.#calls.set(index, draft)
      if (typeof call['id'] === 'string') draft.id = call['id']
      if (typeof fields['arguments'] === 'string') draft.arguments += fields['arguments']
    }
  }

  #newCall(name: string): CallDraft {
    const hidden = this.#isOurs(name)
    if (hidden) this.#changed = true
    return { id: '', name, arguments: '', hidden, shown: hidden ? -1 : this.#shownCalls++ }
  }

  /** Undefined when nothing of the delta is for the client. */
  #visibleDelta(delta: Fields): Fields | undefined {
    const { tool_calls: calls, ...rest } = delta
    const kept = recordsIn(calls).flatMap((call) => {
      const draft = this.#calls.get(Number(call['index'] ?? 0))
      return draft === undefined || draft.hidden ? [] : [{ ...call, index: draft.shown }]
    })
    const says = Object.entries(rest).some(([key, value]) => key !== 'role' && value !== '' && value !== null)
    if (kept.length > 0) return { ...rest, tool_calls: kept }
    // The opening chunk of a later answer says nothing but its role.
    return says || (calls === undefined && this.#answers === 0) ? rest : undefined
  }

  #rewritten(event: StreamEvent, data: Fields, choice: Fields, delta: Fields): StreamEvent {
    return eventOf(event, { ...data, id: this.#firstId, choices: [{ ...choice, delta }] })
  }

  parts(): readonly Fields[] {
    const hasText = Object.values(this.#text).some((value) => value !== '')
    return [
      ...(hasText ? [{ ...this.#text }] : []),
      ...[...this.#calls.values()].map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    ]
  }

  close(): readonly Passed[] {
    return this.#held.map((event) => this.#ending(event))
  }

  #ending(event: StreamEvent): Passed {
    const data = event.data === SSE_DONE ? undefined : parseData(event)
    if (data === undefined || !this.#changed) return event
    const choice = choiceOf(data)
    if (choice === undefined) return eventOf(event, { ...data, id: this.#firstId })
    const finish_reason = finishOf(choice['finish_reason'], this.#shownCalls > 0)
    return eventOf(event, { ...data, id: this.#firstId, choices: [{ ...choice, finish_reason }] })
  }

  next(): readonly Passed[] {
    const said = this.#held.flatMap((event) => {
      const data = event.data === SSE_DONE ? undefined : parseData(event)
      const choice = data === undefined ? undefined : choiceOf(data)
      const delta = isRecord(choice?.['delta']) ? choice['delta'] : {}
      if (data === undefined || typeof delta['content'] !== 'string' || delta['content'] === '') return []
      return [eventOf(event, { ...data, choices: [{ ...choice, finish_reason: null }] })]
    })
    this.#answers++
    this.#changed = true
    this.#calls = new Map()
    this.#text = {}
    this.#held = []
    return said
  }
}
