import type { Codec, ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Frame } from '../../formats/framing.ts'
import { wireOf } from '../../formats/registry.ts'
import { errorEvent } from '../request/answer.ts'
import type { Tap, TapEnd, UpstreamAnswer } from '../exchange-types.ts'
import type { When } from '../request/record-answer.ts'
import type { HiddenNext, HiddenSession } from './index.ts'
import type { Passed } from '../../formats/wire/steps.ts'

export interface HiddenTapDeps<B> {
  readonly codec: Codec
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
export function hiddenTap<B>(deps: HiddenTapDeps<B>): Tap<B> {
  const { codec, hidden } = deps
  const stream = hidden.stream()
  const visible = codec.stream()
  const { framing } = wireOf(codec.format)
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
      return stream.parts().some((part) => hidden.isHidden(part))
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
      const said = isLost ? undefined : answer
      // The client need not wait for a disk: in this process whatever comes next in the session is recorded after it.
      const recorded = deps.recorded(() => said && read(said), complete && callsUs() ? 'now' : 'behind')
      if (deps.isShared) await recorded
      const ended = (bytes: string): TapEnd<B> => ({ bytes: Buffer.from(bytes), settled: recorded.then(deps.finished) })
      if (!complete || isLost) return ended(rest)
      try {
        const goesOn = await hidden.take(stream.parts())
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
        return ended(rest + errorEvent(codec.format, error))
      }
    },
  }
}

function read(stream: StreamReducer): ModelResponse | undefined {
  try {
    return stream.response()
  } catch {
    return undefined
  }
}
