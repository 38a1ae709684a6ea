import type { StreamEvent } from '../../core/codec.ts'
import { type Fields, isRecord, recordOf, recordsIn } from '../../core/values.ts'
import { listOf, requestIn, valueAt } from './source.ts'
import {
  byToolChoice,
  eventOf,
  parseData,
  type HiddenWire,
  type IsOurs,
  type Passed,
  type VisibleStream,
} from '../wire/steps.ts'

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
    functionResponse: { ...(id !== '' && { id }), name, response: { output: text } },
  }),
  continuation: (parts, results) => [
    { role: 'model', parts },
    { role: 'user', parts: results },
  ],
  joinsResults: true,
  partsOf: (body) => partsIn(candidateOf(body)),
  assemble(bodies, visible) {
    const last = bodies.at(-1)!
    return {
      ...last,
      ...withParts(last, visible),
      ...(bodies[0]!['responseId'] !== undefined && { responseId: bodies[0]!['responseId'] }),
    }
  },
  stream: (isOurs) => new GeminiStream(isOurs),
}

function withParts(body: Fields, parts: readonly Fields[]): Fields {
  const [candidate, ...others] = recordsIn(body['candidates'])
  const content = isRecord(candidate?.['content']) ? candidate['content'] : { role: 'model' }
  return { candidates: [{ ...candidate, content: { ...content, parts } }, ...others] }
}

class GeminiStream implements VisibleStream {
  readonly #isOurs: IsOurs
  #parts: Fields[] = []
  #held: StreamEvent | undefined
  #firstId: unknown
  #answers = 0
  #hidesCalls = false

  constructor(isOurs: IsOurs) {
    this.#isOurs = isOurs
  }

  push(event: StreamEvent): readonly Passed[] {
    const data = parseData(event)
    const candidate = data === undefined ? undefined : candidateOf(data)
    if (data === undefined || candidate === undefined) return ['same']
    this.#firstId ??= data['responseId']
    const parts = partsIn(candidate)
    const visible = parts.filter((part) => steps.callOf(part, this.#isOurs) === undefined)
    if (visible.length < parts.length) this.#hidesCalls = true
    for (const part of parts) this.#take(part)
    const isChanged = visible.length < parts.length || this.#answers > 0
    const shown = isChanged ? eventOf(event, { ...data, ...this.#id(), ...withParts(data, visible) }) : event
    if (typeof candidate['finishReason'] === 'string') {
      if (!this.#hidesCalls) return [shown]
      this.#held = shown
      return []
    }
    return visible.length === 0 && parts.length > 0 ? [] : [shown]
  }

  /** Pieces of one text are one part of the history. */
  #take(part: Fields): void {
    const last = this.#parts.at(-1)
    if (isPlainText(part) && last !== undefined && isPlainText(last) && last['thought'] === part['thought']) {
      this.#parts[this.#parts.length - 1] = { ...last, text: `${String(last['text'])}${String(part['text'])}` }
    } else this.#parts.push(part)
  }

  parts(): readonly Fields[] {
    return this.#parts.filter((part) => part['text'] !== '' || Object.keys(part).length > 1)
  }

  close(): readonly Passed[] {
    return this.#held === undefined ? [] : [this.#held]
  }

  /** All events of one visible answer have the id of its first. */
  #id(): Fields {
    return this.#firstId === undefined ? {} : { responseId: this.#firstId }
  }

  next(): readonly Passed[] {
    const said = this.#saidAtTheEnd()
    this.#answers++
    this.#hidesCalls = false
    this.#parts = []
    this.#held = undefined
    return said
  }

  #saidAtTheEnd(): readonly Passed[] {
    const data = this.#held === undefined ? undefined : parseData(this.#held)
    if (data === undefined || steps.partsOf(data).every((part) => part['text'] === '')) return []
    const candidates = recordsIn(data['candidates']).map((candidate) => ({ ...candidate, finishReason: undefined }))
    return [eventOf(this.#held!, { ...data, candidates })]
  }
}

const isPlainText = (part: Fields): boolean =>
  typeof part['text'] === 'string' && part['thoughtSignature'] === undefined
