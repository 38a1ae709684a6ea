import type { StreamEvent } from '../../core/codec.ts'
import { isRecord, recordsIn, textOf, type Fields } from '../../core/values.ts'
import { byToolChoice, eventOf, parseInput, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'

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
  stream: (isOurs) => new ResponsesStream(steps, isOurs),
}

const isRunByClient = ({ type }: Fields): boolean =>
  ['function', 'custom', 'local_shell', 'shell', 'apply_patch'].includes(textOf(type))

const ENDINGS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

class ResponsesStream extends VisibleStream {
  /** Index upstream → index that the client sees; undefined for items of ours. */
  #shown = new Map<number, number | undefined>()
  #visibleCount = 0
  #visible: Fields[] = []
  #firstId: unknown
  #sequence = 0
  /** Something was hidden: from there on events are written anew. */
  #changed = false

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (data === undefined) return ['same']
    const type = String(data['type'])
    if (ENDINGS.has(type)) return this.end(event, data)
    if (isRecord(data['response'])) this.#firstId ??= data['response']['id']
    if ((type === 'response.created' || type === 'response.in_progress') && this.answers > 0) return []
    const { output_index: index, item } = data
    if (typeof index !== 'number') return [this.#numbered(event, data)]
    if (type === 'response.output_item.added' && isRecord(item)) {
      const isHidden = this.isHidden(item)
      if (isHidden) this.#changed = true
      this.#shown.set(index, isHidden ? undefined : this.#visibleCount++)
    }
    const shown = this.#shown.get(index)
    if (shown === undefined) return []
    if (type === 'response.output_item.done' && isRecord(item)) this.#visible.push(item)
    return [this.#numbered(event, data, shown)]
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

  protected override ending(event: StreamEvent, data: Fields): Passed {
    const response = isRecord(data['response']) ? data['response'] : {}
    // One id for the whole stream; only where the provider stores it the client may chain to it, and the last one has everything.
    const id = response['store'] === true ? response['id'] : (this.#firstId ?? response['id'])
    const whole = { ...response, id, output: this.#visible }
    return this.#numbered(event, { ...data, response: whole })
  }

  protected override startOver(): void {
    this.#changed = true
    this.#shown = new Map()
  }
}
