import type { Codec, ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Frame } from '../../formats/framing.ts'
import type { Wire } from '../../formats/registry.ts'
import { errorEvent } from '../answer.ts'
import { wholeOf, type Tap, type TapEnd, type UpstreamAnswer, type When } from '../types.ts'
import type { HiddenNext, HiddenSession } from './session.ts'
import type { Passed } from '../../formats/wire/steps.ts'
import { decodeBody } from '../http/encoding.ts'
import { isRecord, type Fields } from '../../core/values.ts'

interface AnswerDeps<B> {
  readonly wire: Wire
  readonly hidden: HiddenSession
  /** Sends the request that goes on; rejects when the upstream refuses it. */
  readonly proceed: (request: HiddenNext) => Promise<UpstreamAnswer<B>>
  /** Other processes may get the next request: what this one recorded has to be there for them. */
  readonly isShared: boolean
  /** One answer of the upstream is complete, hidden or not. */
  readonly recorded: (read: () => ModelResponse | undefined, when: When) => Promise<void>
  /** The visible answer is over. */
  readonly finished: () => void
}

/** Carries a stream past the client's eyes: our calls are cut out, answered, and the stream goes on. */
export function hiddenTap<B>(deps: AnswerDeps<B>): Tap<B> {
  const { hidden } = deps
  const { codec, framing } = deps.wire
  const stream = hidden.stream()
  const visible = codec.stream()
  const rawOf = new WeakMap<StreamEvent, string>()
  let frames = framing.frames()
  let isCancelled = false
  /** The upstream's own words, ours included. */
  let answer = codec.stream()

  /** Bytes that came and did not pass yet: an event that is not complete, or one that is held back. */
  let pending = 0
  /** Something passed that did not come like that: from there on nobody can tell from sizes what has passed. */
  let isChanged = false

  const write = (passed: readonly Passed[], frame?: Frame): string =>
    passed
      .map((one) => {
        isChanged ||= one !== 'same'
        const event = one === 'same' ? frame!.event! : one
        visible.push(event)
        return rawOf.get(event) ?? framing.write(event)
      })
      .join('')
  /** An event that cannot be understood ends the reading along; what comes passes from there on as it is. */
  let isLost = false
  const pass = (arrived: readonly Frame[]): string =>
    arrived
      .map((frame) => {
        if (frame.event === undefined || isLost) return frame.raw
        try {
          rawOf.set(frame.event, frame.raw)
          answer.push(frame.event)
          return write(stream.push(frame.event), frame)
        } catch {
          isLost = true
          return frame.raw
        }
      })
      .join('')

  /** What cannot be read is told to the client further below. */
  const callsUs = (): boolean => {
    try {
      return hidden.partsOf(answer.body()).some((part) => hidden.isHidden(part))
    } catch {
      return false
    }
  }

  return {
    rewrites: true,
    chunk(bytes) {
      const wasWhole = pending === 0
      const text = pass(frames.push(bytes))
      pending += bytes.length - Buffer.byteLength(text)
      // What is no UTF-8 is written as something longer.
      isChanged ||= pending < 0
      // Whole events that pass as they came need no copy.
      return wasWhole && pending === 0 && !isChanged ? bytes : Buffer.from(text)
    },
    async end(complete) {
      const rest = pass(frames.end())
      const whole = isLost ? undefined : answer
      // The client need not wait for a disk: in this process whatever comes next in the session is recorded after it.
      const recorded = deps.recorded(() => whole && said(whole), complete && callsUs() ? 'now' : 'behind')
      if (deps.isShared) await recorded
      const ended = (bytes: string): TapEnd<B> => ({ bytes: Buffer.from(bytes), settled: recorded.then(deps.finished) })
      if (!complete || isLost) return ended(rest)
      try {
        const goesOn = await hidden.take(hidden.partsOf(answer.body()))
        if (goesOn !== undefined) {
          if (isCancelled) return ended('')
          const next = await deps.proceed(goesOn)
          if (isCancelled) {
            next.discard()
            return ended('')
          }
          const going = write(stream.next())
          frames = framing.frames()
          answer = codec.stream()
          return { bytes: Buffer.from(rest + going), next }
        }
        const closing = write(stream.close())
        await hidden.done(visible.response())
        return ended(rest + closing)
      } catch (cause) {
        const error = cause instanceof PlimsollError ? cause : new PlimsollError('upstream', (cause as Error).message)
        return ended(rest + errorEvent(deps.wire, error))
      }
    },
  }
}

const said = (stream: StreamReducer): ModelResponse | undefined => attempt(() => stream.response())

/** A whole answer is kept until its end to be read; a longer one, packed or not, passes as it came. */
const MAX_BYTES = 16 * 1024 * 1024

interface WholeAnswer {
  /** Undefined when the answer cannot be read: it is the client's as it came. */
  readonly bytes?: Uint8Array
  /** Everything that the upstream said is recorded. */
  readonly settled: Promise<void>
}

/** The one answer that the client gets for all that the upstream said; the bytes as they came where nothing was hidden. */
export async function hiddenWhole<B>(deps: AnswerDeps<B>, first: UpstreamAnswer<B>): Promise<WholeAnswer> {
  const { hidden } = deps
  const { codec } = deps.wire
  const bodies: Fields[] = []
  const visible: Fields[] = []
  for (let answer = first; ;) {
    const bytes = await plainBytes(answer)
    if (bytes === undefined) {
      const settled = deps.recorded(() => undefined, 'behind')
      if (answer === first) return { settled }
      await settled
      answer.discard()
      throw new PlimsollError('upstream', 'The answer after a hidden step cannot be read.', { retryable: true })
    }
    const body = parse(bytes)
    const parts = body === undefined ? undefined : attempt(() => hidden.partsOf(body))
    // The answer need not wait for a disk: in this process whatever comes next in the session is recorded after it.
    const settled = deps.recorded(
      () => (body === undefined ? undefined : read(codec, body)),
      parts?.some((part) => hidden.isHidden(part)) === true ? 'now' : 'behind',
    )
    if (deps.isShared) await settled
    if (body === undefined || parts === undefined) return { bytes, settled }
    bodies.push(body)
    visible.push(...parts.filter((part) => !hidden.isHidden(part)))
    const goesOn = await hidden.take(parts)
    if (goesOn !== undefined) {
      answer = await deps.proceed(goesOn)
      continue
    }
    if (bodies.length === 1 && visible.length === parts.length) return { bytes, settled }
    const whole = hidden.assemble(bodies, visible)
    await hidden.done(read(codec, whole))
    return { bytes: Buffer.from(JSON.stringify(whole)), settled }
  }
}

async function plainBytes<B>(answer: UpstreamAnswer<B>): Promise<Uint8Array | undefined> {
  const bytes = await wholeOf(answer, MAX_BYTES)
  if (bytes === undefined) return undefined
  return decodeBody(bytes, answer.header('content-encoding'), MAX_BYTES).catch(() => undefined)
}

function parse(bytes: Uint8Array): Fields | undefined {
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
