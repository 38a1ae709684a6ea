import { randomUUID } from 'node:crypto'
import type { Codec, ModelResponse, StreamEvent } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import { bytesOf, type Frame, type Piece } from '../../formats/framing.ts'
import { isOverBounds } from '../../formats/json/bounds.ts'
import type { Wire } from '../../formats/registry.ts'
import { errorEvent } from '../answer.ts'
import type { When } from '../types.ts'
import type { UpstreamAnswer } from '../read-answer.ts'
import type { HiddenNext, HiddenSession } from './session.ts'
import type { AnswerEnd, AnswerHead } from '../../formats/wire/answer.ts'
import type { Passed } from '../../formats/wire/steps.ts'
import { isRecord, type Fields } from '../../core/values.ts'

interface AnswerDeps {
  readonly wire: Wire
  readonly hidden: HiddenSession
  /** Sends the next request; rejects when the upstream refuses it. */
  readonly proceed: (request: HiddenNext) => Promise<UpstreamAnswer>
  /** Other processes may get the next request, so records must be in the store before the answer ends. */
  readonly isShared: boolean
  /** One answer of the upstream is complete, hidden or not. */
  readonly recorded: (read: () => ModelResponse | undefined, when: When) => Promise<void>
  /** Called with the last promise that `recorded` returned. */
  readonly settled: (recorded: Promise<void>) => void
}

/** Forwards a stream to the client. Calls of our tools are removed and answered, and the stream continues with the next answer. */
export async function* hiddenStream(deps: AnswerDeps, first: UpstreamAnswer): AsyncGenerator<Uint8Array> {
  const { hidden, wire } = deps
  const { codec, framing } = wire
  const stream = hidden.stream()
  const visible = codec.stream()
  const rawOf = new WeakMap<StreamEvent, Piece>()
  const write = (passed: readonly Passed[], own?: StreamEvent): Piece[] =>
    passed.map((one) => {
      const event = one === 'same' ? own! : one
      visible.push(event)
      return rawOf.get(event) ?? framing.write(event)
    })
  let recorded: Promise<void> | undefined
  try {
    for (let answer: UpstreamAnswer | undefined = first; answer !== undefined;) {
      const frames = framing.frames()
      /** The upstream's answer with the calls of our tools. */
      const said = codec.stream()
      /** After an event that cannot be read, the rest of the stream is forwarded unread. */
      let isLost = false
      const pass = ({ raw, event }: Frame): readonly Piece[] => {
        if (event === undefined || isLost) return [raw]
        try {
          rawOf.set(event, raw)
          said.push(event)
          return write(stream.push(event), event)
        } catch {
          isLost = true
          return [raw]
        }
      }
      const response = (): ModelResponse | undefined => (isLost ? undefined : attempt(() => said.response()))
      recorded = undefined
      let rest: Piece[] = []
      try {
        for await (const bytes of answer.body) {
          const passed = bytesOf(frames.push(bytes).flatMap(pass))
          if (passed.length > 0) yield passed
        }
        rest = frames.end().flatMap(pass)
        const callsUs = attempt(() => hidden.partsOf(said.body()).some((part) => hidden.isHidden(part))) === true
        // The client does not wait for the disk: later records of this session are written after this one.
        recorded = deps.recorded(response, callsUs ? 'now' : 'behind')
      } finally {
        recorded ??= deps.recorded(response, 'behind')
        if (deps.isShared) await recorded
      }
      answer = undefined
      try {
        const goesOn = isLost ? undefined : await hidden.take(hidden.partsOf(said.body()))
        if (goesOn !== undefined) {
          answer = await deps.proceed(goesOn)
          rest.push(...write(stream.next()))
        } else if (!isLost) {
          const silent = silence(hidden, hidden.partsOf(said.body()), visible.response())
          rest.push(...write(silent === undefined ? stream.close() : endingEvents(wire, silent)))
          await hidden.done(visible.response())
        }
      } catch (cause) {
        const error = cause instanceof PlimsollError ? cause : new PlimsollError('upstream', (cause as Error).message)
        rest.push(errorEvent(wire, error))
        answer = undefined
      }
      if (rest.length > 0) yield bytesOf(rest)
    }
  } finally {
    deps.settled(recorded!)
  }
}

/** Answers that are not streamed are read as a whole; a longer one is forwarded unread. */
const MAX_BYTES = 16 * 1024 * 1024

/**
 * The client's answer, joined from all answers of the upstream; the original bytes if nothing was hidden, undefined if they
 * cannot be read.
 */
export async function hiddenWhole(deps: AnswerDeps, first: UpstreamAnswer): Promise<Uint8Array | undefined> {
  const { hidden } = deps
  const { codec } = deps.wire
  const bodies: Fields[] = []
  const visible: Fields[] = []
  for (let answer = first; ;) {
    const bytes = await answer.body.whole(MAX_BYTES)
    if (bytes === undefined) {
      const recorded = deps.recorded(() => undefined, 'behind')
      deps.settled(recorded)
      if (answer === first) return undefined
      await recorded
      answer.body.discard()
      throw new PlimsollError('upstream', 'The answer after a hidden step cannot be read.', { retryable: true })
    }
    const body = parse(bytes)
    const parts = body === undefined ? undefined : attempt(() => hidden.partsOf(body))
    // The answer does not wait for the disk: later records of this session are written after this one.
    const recorded = deps.recorded(
      () => (body === undefined ? undefined : read(codec, body)),
      parts?.some((part) => hidden.isHidden(part)) === true ? 'now' : 'behind',
    )
    deps.settled(recorded)
    if (deps.isShared) await recorded
    if (body === undefined || parts === undefined) return bytes
    bodies.push(body)
    visible.push(...parts.filter((part) => !hidden.isHidden(part)))
    const goesOn = await hidden.take(parts)
    if (goesOn !== undefined) {
      answer = await deps.proceed(goesOn)
      continue
    }
    if (bodies.length === 1 && visible.length === parts.length) return bytes
    const whole = hidden.assemble(bodies, visible)
    const response = read(codec, whole)
    await hidden.done(response)
    const silent = response && silence(hidden, parts, response)
    return Buffer.from(JSON.stringify(silent === undefined ? whole : closingAnswer(deps.wire, silent)))
  }
}

const SILENT =
  '[plimsoll: the model called only tools that are not answered any more in this turn, and said nothing else. Ask it to go on.]'

/** Whether the whole answer is hidden. The client then gets a notice, because APIs refuse an empty answer in the next request. */
function silence(hidden: HiddenSession, last: readonly Fields[], visible: ModelResponse): ModelResponse | undefined {
  const says = visible.items.some(({ kind, text }) => kind === 'call' || (kind === 'assistant' && text.trim() !== ''))
  return says || !last.some((part) => hidden.isHidden(part)) ? undefined : visible
}

function closing({ model = 'unknown', usage }: ModelResponse) {
  const head: AnswerHead = { id: randomUUID(), model, nowSeconds: Math.floor(Date.now() / 1000) }
  const end: AnswerEnd = { parts: [{ kind: 'text', text: SILENT }], stop: 'end', usage }
  return { head, end }
}

function closingAnswer(wire: Wire, visible: ModelResponse): Fields {
  const { head, end } = closing(visible)
  return wire.answers.writer().whole(head, end)
}

/** Ends a stream with the notice, after what was shown, which can only be thinking. */
function endingEvents(wire: Wire, visible: ModelResponse): readonly StreamEvent[] {
  const { head, end } = closing(visible)
  const writer = wire.answers.writer()
  const [part] = end.parts
  const at = visible.items.length
  writer.begin(head)
  return [
    ...writer.open(head, { ...part!, text: '' }, at),
    ...writer.grow(head, part!, at, SILENT),
    ...writer.close(head, part!, at),
    ...writer.end(head, end),
  ]
}

function parse(bytes: Uint8Array): Fields | undefined {
  if (isOverBounds(bytes)) return undefined
  const body = attempt((): unknown => JSON.parse(Buffer.from(bytes).toString('utf8')))
  return isRecord(body) ? body : undefined
}

const read = (codec: Codec, body: Fields): ModelResponse | undefined => attempt(() => codec.readResponse(body))

/** Upstreams may send invalid data. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
