import type { StreamEvent } from '../../core/codec.ts'
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

export const steps: HiddenWire = {
  list: 'input',
  admits(fields) {
    // An answer that is made in the background is fetched by id, past us; a history or a prompt that the provider holds may have tools of any name.
    const isElsewhere = ['previous_response_id', 'conversation', 'prompt'].some((key) => (fields[key] ?? null) !== null)
    if (isElsewhere || fields['background'] === true) return 'no'
    return recordsIn(fields['tools']).some(isRunByClient) ? byToolChoice(fields) : 'no'
  },
  callOf: (part, isOurs) =>
    part['type'] === 'function_call' && isOurs(String(part['name']))
      ? { id: String(part['call_id']), name: String(part['name']), input: parseInput(part['arguments']) }
      : undefined,
  isCall: (part) => part['type'] === 'function_call' || part['type'] === 'custom_tool_call',
  resultOf: ({ id }, text) => ({ type: 'function_call_output', call_id: id, output: text }),
  continuation: (parts, results) => [...parts, ...results],
  joinsResults: false,
  partsOf: (body) => recordsIn(body['output']),
  assemble: (bodies, visible) => ({
    ...bodies.at(-1)!,
    output: visible,
  }),
  stream: (isOurs) => new ResponsesStream(isOurs),
}

const isRunByClient = ({ type }: Fields): boolean =>
  ['function', 'custom', 'local_shell', 'shell', 'apply_patch'].includes(textOf(type))

const ENDINGS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

class ResponsesStream implements VisibleStream {
  readonly #isOurs: IsOurs
  #shown = new Map<number, number | undefined>()
  #visibleCount = 0
  #visible: Fields[] = []
  #parts: Fields[] = []
  #held: StreamEvent[] = []
  #firstId: unknown
  #answers = 0
  #sequence = 0
  #changed = false
  #hidesCalls = false

  constructor(isOurs: IsOurs) {
    this.#isOurs = isOurs
  }

  push(event: StreamEvent): readonly Passed[] {
    const data = parseData(event)
    if (data === undefined) return ['same']
    const type = String(data['type'])
    if (ENDINGS.has(type)) {
      if (!this.#hidesCalls) return [this.#ending(event, data)]
      this.#held.push(event)
      return []
    }
    if (isRecord(data['response'])) this.#firstId ??= data['response']['id']
    if ((type === 'response.created' || type === 'response.in_progress') && this.#answers > 0) return []
    const index = typeof data['output_index'] === 'number' ? data['output_index'] : undefined
    if (index === undefined) return [this.#numbered(event, data)]
    const item = isRecord(data['item']) ? data['item'] : undefined
    if (type === 'response.output_item.added' && item !== undefined) {
      const hidden = steps.callOf(item, this.#isOurs) !== undefined
      if (hidden) this.#hidesCalls = this.#changed = true
      this.#shown.set(index, hidden ? undefined : this.#visibleCount++)
    }
    if (type === 'response.output_item.done' && item !== undefined) {
      this.#parts.push(item)
      if (this.#shown.get(index) !== undefined) this.#visible.push(item)
    }
    const shown = this.#shown.get(index)
    return shown === undefined ? [] : [this.#numbered(event, data, shown)]
  }

  #numbered(event: StreamEvent, data: Fields, shown?: number): Passed {
    const sequence = this.#sequence++
    if (!this.#changed) return 'same'
    return eventOf(event, {
      ...data,
      output_index: shown ?? data['output_index'],
      sequence_number: data['sequence_number'] !== undefined ? sequence : undefined,
    })
  }

  parts(): readonly Fields[] {
    return this.#parts
  }

  close(): readonly Passed[] {
    return this.#held.map((event) => this.#ending(event, parseData(event)!))
  }

  #ending(event: StreamEvent, data: Fields): Passed {
    const response = isRecord(data['response']) ? data['response'] : {}
    // One id for the whole stream; only where the provider stores it the client may chain to it, and the last one has everything.
    const id = response['store'] === true ? response['id'] : (this.#firstId ?? response['id'])
    const whole = { ...response, id, output: this.#visible }
    return this.#numbered(event, { ...data, response: whole })
  }

  next(): readonly Passed[] {
    this.#answers++
    this.#changed = true
    this.#hidesCalls = false
    this.#parts = []
    this.#shown = new Map()
    this.#held = []
    return []
  }
}
