import type { StreamEvent } from '../../core/codec.ts'
import { recordOf, isRecord, recordsIn, type Fields } from '../../core/values.ts'
import { listOf, requestIn, valueAt } from './decode.ts'
import { byToolChoice, eventOf, type HiddenWire, type Passed, VisibleStream } from '../wire/steps.ts'

const candidateOf = (body: Fields): Fields | undefined => recordsIn(body['candidates'])[0]
const partsIn = (candidate: Fields | undefined): readonly Fields[] =>
  isRecord(candidate?.['content']) ? recordsIn(candidate['content']['parts']) : []

export const steps: HiddenWire = {
  list: 'contents',
  admits(body) {
    const fields = requestIn(body)
    const config = recordOf(valueAt(fields, 'generationConfig'))
    const candidates = valueAt(config, 'candidateCount')
    // Cached content brings its own tools, and Google's own tools refuse functions beside them.
    if ((valueAt(fields, 'cachedContent') ?? null) !== null || (typeof candidates === 'number' && candidates > 1))
      return 'no'
    const tools = listOf(fields['tools']).filter(isRecord)
    const declaresOnly = tools.every(
      (tool) => valueAt(tool, 'functionDeclarations') !== undefined && Object.keys(tool).length === 1,
    )
    const hasFunctions = tools.some((tool) => listOf(valueAt(tool, 'functionDeclarations')).length > 0)
    if (!declaresOnly || !hasFunctions) return 'no'
    const calling = recordOf(valueAt(recordOf(valueAt(fields, 'toolConfig')), 'functionCallingConfig'))
    return listOf(valueAt(calling, 'allowedFunctionNames')).length > 0 ? 'closed' : byToolChoice(fields)
  },
  callOf(part, isOurs) {
    const call = part['functionCall']
    if (!isRecord(call) || !isOurs(String(call['name']))) return undefined
    return {
      id: typeof call['id'] === 'string' ? call['id'] : '',
      name: String(call['name']),
      input: call['args'] ?? {},
    }
  },
  isCall: (part) => isRecord(part['functionCall']),
  resultOf: ({ id, name }, text) => ({
    functionResponse: { id: id !== '' ? id : undefined, name, response: { output: text } },
  }),
  continuation: (parts, results) => [
    { role: 'model', parts },
    { role: 'user', parts: results },
  ],
  joinsResults: true,
  // A stream may end on an empty text.
  partsOf: (body) => partsIn(candidateOf(body)).filter((part) => part['text'] !== '' || Object.keys(part).length > 1),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    return {
      ...last,
      ...withParts(last, visible),
      responseId: bodies[0]!['responseId'] ?? last['responseId'],
    }
  },
  stream: (isOurs) => new GeminiStream(steps, isOurs),
}

function withParts(body: Fields, parts: readonly Fields[]): Fields {
  const [candidate, ...others] = recordsIn(body['candidates'])
  const content = isRecord(candidate?.['content']) ? candidate['content'] : { role: 'model' }
  return { candidates: [{ ...candidate, content: { ...content, parts } }, ...others] }
}

class GeminiStream extends VisibleStream {
  #firstId: unknown

  protected override take(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    const candidate = data === undefined ? undefined : candidateOf(data)
    if (data === undefined || candidate === undefined) return ['same']
    this.#firstId ??= data['responseId']
    const parts = partsIn(candidate)
    const visible = parts.filter((part) => !this.isHidden(part))
    const isChanged = visible.length < parts.length || this.answers > 0
    // All events of one visible answer have the id of its first.
    const id = this.#firstId === undefined ? {} : { responseId: this.#firstId }
    const shown = isChanged ? eventOf(event, { ...data, ...id, ...withParts(data, visible) }) : event
    if (typeof candidate['finishReason'] === 'string') return this.end(shown, data)
    return visible.length === 0 && parts.length > 0 ? [] : [shown]
  }

  protected override saidAtTheEnd(event: StreamEvent, data: Fields | undefined): readonly Passed[] {
    if (data === undefined || steps.partsOf(data).every((part) => part['text'] === '')) return []
    const candidates = recordsIn(data['candidates']).map((candidate) => ({ ...candidate, finishReason: undefined }))
    return [eventOf(event, { ...data, candidates })]
  }
}
