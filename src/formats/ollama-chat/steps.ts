import type { StreamEvent } from '../../core/codec.ts'
import { isRecord, recordsIn, textOf, type Fields } from '../../core/values.ts'
import {
  eventOf,
  parseData,
  parseInput,
  type HiddenWire,
  type IsOurs,
  type Passed,
  type VisibleStream,
} from '../wire/steps.ts'

/** The parts of an answer: its text and thinking as one, each call as one. */
const isText = (part: Fields): boolean => part['function'] === undefined
const nameOf = (part: Fields): string => (isRecord(part['function']) ? textOf(part['function']['name']) : '')

export const steps: HiddenWire = {
  list: 'messages',
  admits: (fields) => (recordsIn(fields['tools']).length === 0 ? 'no' : 'open'),
  callOf: (part, isOurs) =>
    isRecord(part['function']) && isOurs(nameOf(part))
      ? { id: textOf(part['id']), name: nameOf(part), input: parseInput(part['function']['arguments']) }
      : undefined,
  isCall: (part) => !isText(part),
  resultOf: ({ id, name }, content) => ({
    role: 'tool',
    tool_name: name,
    tool_call_id: id !== '' ? id : undefined,
    content,
  }),
  continuation: (parts, results) => [messageOf(parts), ...results],
  joinsResults: false,
  partsOf: (body) => partsOfMessage(body['message']),
  assemble: (bodies, visible) => ({ ...bodies.at(-1)!, message: messageOf(merged(visible)) }),
  stream: (isOurs) => new OllamaStream(isOurs),
}

function partsOfMessage(message: unknown): readonly Fields[] {
  if (!isRecord(message)) return []
  const { tool_calls: calls, role: _role, ...text } = message
  const hasText = Object.values(text).some((value) => typeof value === 'string' && value !== '')
  return [...(hasText ? [text] : []), ...recordsIn(calls)]
}

function messageOf(parts: readonly Fields[]): Fields {
  const calls = parts.filter(steps.isCall)
  const [text] = parts.filter(isText)
  return { role: 'assistant', content: '', ...text, tool_calls: calls.length > 0 ? calls : undefined }
}

/** Texts of several answers as one. */
function merged(parts: readonly Fields[]): readonly Fields[] {
  const texts = parts.filter(isText)
  const all = (key: string): string => texts.map((part) => textOf(part[key])).join('')
  const thinking = all('thinking')
  return [{ content: all('content'), thinking: thinking !== '' ? thinking : undefined }, ...parts.filter(steps.isCall)]
}

class OllamaStream implements VisibleStream {
  readonly #isOurs: IsOurs
  #text = { content: '', thinking: '' }
  #calls: Fields[] = []
  #held: StreamEvent[] = []

  constructor(isOurs: IsOurs) {
    this.#isOurs = isOurs
  }

  push(event: StreamEvent): readonly Passed[] {
    const data = parseData(event)
    const message = isRecord(data?.['message']) ? data['message'] : undefined
    if (data === undefined || message === undefined) return ['same']
    this.#text.content += textOf(message['content'])
    this.#text.thinking += textOf(message['thinking'])
    const calls = recordsIn(message['tool_calls'])
    this.#calls.push(...calls)
    const shown = calls.filter((call) => !this.#isHidden(call))
    const { tool_calls: _, ...rest } = message
    const passed: Passed =
      shown.length === calls.length
        ? 'same'
        : eventOf(event, { ...data, message: shown.length === 0 ? rest : { ...rest, tool_calls: shown } })
    if (data['done'] === true && this.#calls.some((call) => this.#isHidden(call))) {
      this.#held.push(passed === 'same' ? event : passed)
      return []
    }
    const saysNothing = textOf(message['content']) === '' && textOf(message['thinking']) === '' && shown.length === 0
    return passed !== 'same' && saysNothing && data['done'] !== true ? [] : [passed]
  }

  #isHidden(call: Fields): boolean {
    return steps.callOf(call, this.#isOurs) !== undefined
  }

  parts(): readonly Fields[] {
    const { content, thinking } = this.#text
    const text = { content, thinking: thinking !== '' ? thinking : undefined }
    return [...(content === '' && thinking === '' ? [] : [text]), ...this.#calls]
  }

  close(): readonly Passed[] {
    return this.#held
  }

  next(): readonly Passed[] {
    this.#text = { content: '', thinking: '' }
    this.#calls = []
    this.#held = []
    return []
  }
}
