import type { StreamEvent } from '../../core/codec.ts'
import { isRecord, recordOf, recordsIn, textOf, type Fields } from '../../core/values.ts'
import { byToolChoice, eventOf, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'

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
  stream: (isOurs) => new AnthropicStream(steps, isOurs),
}

/** Declared with a schema, or one of Anthropic's own kinds that the client runs. */
const isRunByClient = (tool: Fields): boolean =>
  tool['input_schema'] !== undefined || /^(?:bash|text_editor|computer|memory)_/.test(textOf(tool['type']))

/** Without a call of the client's own there is nothing for it to run. */
const stopOf = (reason: unknown, hasCalls: boolean): unknown =>
  reason === 'tool_use' && !hasCalls ? 'end_turn' : reason

class AnthropicStream extends VisibleStream {
  /** Index upstream → index that the client sees; undefined for blocks of ours. */
  #shown = new Map<unknown, number | undefined>()
  #visible = 0
  /** Of the answer at hand: it begins with its input and ends with its output. */
  #usage: unknown
  #hasCalls = false

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    switch (data?.['type']) {
      case 'message_start':
        this.#usage = isRecord(data['message']) ? data['message']['usage'] : undefined
        return this.answers === 0 ? ['same'] : []
      case 'content_block_start': {
        const block = isRecord(data['content_block']) ? data['content_block'] : {}
        const isHidden = this.isHidden(block)
        if (!isHidden && block['type'] === 'tool_use') this.#hasCalls = true
        this.#shown.set(data['index'], isHidden ? undefined : this.#visible++)
        return this.#renumbered(event, data)
      }
      case 'content_block_delta':
      case 'content_block_stop':
        return this.#renumbered(event, data)
      case 'message_delta':
      case 'message_stop':
        return this.end(event, data)
      default:
        return ['same']
    }
  }

  #renumbered(event: StreamEvent, data: Fields): readonly Passed[] {
    const index = this.#shown.get(data['index'])
    if (index === undefined) return []
    return index === data['index'] ? ['same'] : [eventOf(event, { ...data, index })]
  }

  protected override ending(event: StreamEvent, data: Fields): Passed {
    if (data['type'] !== 'message_delta') return event
    if (this.answers === 0 && !this.hidesCalls) return 'same'
    const delta = isRecord(data['delta']) ? data['delta'] : {}
    return eventOf(event, {
      ...data,
      delta: { ...delta, stop_reason: stopOf(delta['stop_reason'], this.#hasCalls) },
      // The client has the first answer's input; the last one's tells how full the window is.
      usage: { ...recordOf(this.#usage), ...recordOf(data['usage']) },
    })
  }

  protected override startOver(): void {
    this.#shown = new Map()
  }
}
