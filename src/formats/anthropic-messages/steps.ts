import type { StreamEvent } from '../../core/codec.ts'
import { Numbered } from '../kit/streams.ts'
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
  list: 'messages',
  admits: (fields) => (recordsIn(fields['tools']).some(isRunByClient) ? byToolChoice(fields) : 'no'),
  callOf: (part, isOurs) =>
    part['type'] === 'tool_use' && isOurs(String(part['name']))
      ? { id: String(part['id']), name: String(part['name']), input: part['input'] ?? {} }
      : undefined,
  isCall: (part) => part['type'] === 'tool_use',
  resultOf: ({ id }, text) => ({ type: 'tool_result', tool_use_id: id, content: text }),
  continuation: (parts, results) => [
    { role: 'assistant', content: parts },
    { role: 'user', content: results },
  ],
  joinsResults: true,
  partsOf: (body) => recordsIn(body['content']),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    return {
      ...last,
      id: bodies[0]!['id'],
      content: visible,
      stop_reason: stopOf(last['stop_reason'], visible.some(steps.isCall)),
    }
  },
  stream: (isOurs) => new AnthropicStream(isOurs),
}

/** Declared with a schema, or one of Anthropic's own kinds that the client runs. */
const isRunByClient = (tool: Fields): boolean =>
  tool['input_schema'] !== undefined || /^(?:bash|text_editor|computer|memory)_/.test(textOf(tool['type']))

/** Without a call of the client's own there is nothing for it to run. */
const stopOf = (reason: unknown, hasCalls: boolean): unknown =>
  reason === 'tool_use' && !hasCalls ? 'end_turn' : reason

class AnthropicStream implements VisibleStream {
  readonly #isOurs: IsOurs
  /** Index upstream → index that the client sees; undefined for blocks of ours. */
  #shown = new Map<number, number | undefined>()
  #visible = 0
  /** By their number, which is the provider's to choose. */
  #blocks = new Numbered<{ value: Record<string, unknown>; json: string }>()
  #held: StreamEvent[] = []
  /** Of the answer at hand: it begins with its input and ends with its output. */
  #usage: unknown
  #answers = 0
  #hasCalls = false
  #hidesCalls = false

  constructor(isOurs: IsOurs) {
    this.#isOurs = isOurs
  }

  push(event: StreamEvent): readonly Passed[] {
    const data = parseData(event)
    if (data === undefined) return ['same']
    const index = Number(data['index'])
    switch (data['type']) {
      case 'message_start': {
        this.#usage = isRecord(data['message']) ? data['message']['usage'] : undefined
        return this.#answers === 0 ? ['same'] : []
      }
      case 'content_block_start':
        return this.#startBlock(event, data, index)
      case 'content_block_delta':
        this.#grow(index, data['delta'])
        return this.#renumbered(event, data, index)
      case 'content_block_stop':
        return this.#renumbered(event, data, index)
      case 'message_delta':
      case 'message_stop':
        if (!this.#hidesCalls) return [this.#ending(event, data)]
        this.#held.push(event)
        return []
      default:
        return ['same']
    }
  }

  #startBlock(event: StreamEvent, data: Fields, index: number): readonly Passed[] {
    const block = isRecord(data['content_block']) ? { ...data['content_block'] } : {}
    this.#blocks.set(index, { value: block, json: '' })
    const hidden = steps.callOf(block, this.#isOurs) !== undefined
    if (!hidden && block['type'] === 'tool_use') this.#hasCalls = true
    if (hidden) this.#hidesCalls = true
    this.#shown.set(index, hidden ? undefined : this.#visible++)
    return this.#renumbered(event, data, index)
  }

  #grow(index: number, delta: unknown): void {
    const block = this.#blocks.get(index)
    if (block === undefined || !isRecord(delta)) return
    if (delta['type'] === 'input_json_delta') block.json += String(delta['partial_json'])
    else if (delta['type'] === 'citations_delta') {
      const { citations } = block.value
      if (Array.isArray(citations)) citations.push(delta['citation'])
      else block.value['citations'] = [delta['citation']]
    } else {
      for (const key of ['text', 'thinking', 'signature']) {
        if (typeof delta[key] === 'string') block.value[key] = textOf(block.value[key]) + delta[key]
      }
    }
  }

  #renumbered(event: StreamEvent, data: Fields, index: number): readonly Passed[] {
    const shown = this.#shown.get(index)
    if (shown === undefined) return []
    return shown === index ? ['same'] : [eventOf(event, { ...data, index: shown })]
  }

  parts(): readonly Fields[] {
    return this.#blocks
      .inOrder()
      .map(({ value, json }) => (value['type'] === 'tool_use' ? { ...value, input: parseInput(json) } : value))
  }

  close(): readonly Passed[] {
    return this.#held.map((event) => this.#ending(event, parseData(event)!))
  }

  #ending(event: StreamEvent, data: Fields): Passed {
    if (data['type'] !== 'message_delta') return event
    if (this.#answers === 0 && !this.#hidesCalls) return 'same'
    const delta = isRecord(data['delta']) ? data['delta'] : {}
    return eventOf(event, {
      ...data,
      delta: { ...delta, stop_reason: stopOf(delta['stop_reason'], this.#hasCalls) },
      // The client has the first answer's input; the last one's tells how full the window is.
      usage: overlaid(this.#usage, data['usage']),
    })
  }

  next(): readonly Passed[] {
    this.#answers++
    this.#hidesCalls = false
    this.#blocks = new Numbered()
    this.#shown = new Map()
    this.#held = []
    return []
  }
}

const overlaid = (first: unknown, last: unknown): Fields => ({
  ...(isRecord(first) && first),
  ...(isRecord(last) && last),
})
