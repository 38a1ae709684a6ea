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
  /** Sends the request that goes on; rejects when the upstream refuses it. */
  readonly proceed: (request: HiddenNext) => Promise<UpstreamAnswer>
  /** Other processes may get the next request: what this one recorded has to be there for them. */
  readonly isShared: boolean
  /** One answer of the upstream is complete, hidden or not. */
  readonly recorded: (read: () => ModelResponse | undefined, when: When) => Promise<void>
  /** Told the last of what `recorded` gave. */
  readonly settled: (recorded: Promise<void>) => void
}

/** Carries a stream to the client: calls of our tools are cut out and answered, and the stream goes on with the next answer. */
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
      /** The upstream's own words, calls of our tools included. */
      const said = codec.stream()
      /** An event that cannot be understood ends the reading along; what comes passes from there on as it is. */
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
        // The client need not wait for a disk: in this process what comes next in the session is recorded after it.
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

/** A whole answer is kept until its end to be read; a longer one passes as it came. */
const MAX_BYTES = 16 * 1024 * 1024

/**
 * The one answer that the client gets for all that the upstream said; the bytes as they came where nothing was hidden, undefined where they
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
    // The answer need not wait for a disk: in this process whatever comes next in the session is recorded after it.
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

/** What a client is told where all that is left of an answer is hidden: an empty answer is refused by the same API when it comes back. */
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

/** The end of a stream that has begun: the text behind what was shown, which can only be thinking. */
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

/** An upstream may say anything. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
