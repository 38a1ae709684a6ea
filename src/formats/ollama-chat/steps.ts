import type { StreamEvent } from '../../core/codec.ts'
import { isRecord, recordsIn, textOf, type Fields } from '../../core/values.ts'
import { eventOf, parseInput, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'
import { isText, messageOf, partsOfMessage } from '../openai-chat/steps.ts'

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
  continuation: (parts, results) => [messageOf(parts, ''), ...results],
  joinsResults: false,
  partsOf: (body) => partsOfMessage(body['message']),
  assemble: (bodies, visible) => ({ ...bodies.at(-1)!, message: messageOf(merged(visible), '') }),
  stream: (isOurs) => new OllamaStream(steps, isOurs),
}

/** Texts of several answers as one. */
function merged(parts: readonly Fields[]): readonly Fields[] {
  const texts = parts.filter(isText)
  const all = (key: string): string => texts.map((part) => textOf(part[key])).join('')
  const thinking = all('thinking')
  return [{ content: all('content'), thinking: thinking !== '' ? thinking : undefined }, ...parts.filter(steps.isCall)]
}

class OllamaStream extends VisibleStream {
  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const message = data?.['message']
    if (data === undefined || !isRecord(message)) return ['same']
    const { tool_calls, ...rest } = message
    const calls = recordsIn(tool_calls)
    const shown = calls.filter((call) => !this.isHidden(call))
    const isChanged = shown.length < calls.length
    const seen = shown.length === 0 ? rest : { ...rest, tool_calls: shown }
    const passed = isChanged ? eventOf(event, { ...data, message: seen }) : event
    if (data['done'] === true && this.hidesCalls) return this.end(passed, data)
    const saysNothing = textOf(rest['content']) === '' && textOf(rest['thinking']) === '' && shown.length === 0
    if (!isChanged) return ['same']
    return saysNothing && data['done'] !== true ? [] : [passed]
  }
}
