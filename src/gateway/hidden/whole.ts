import type { Codec, ModelResponse } from '../../core/codec.ts'
import { decodeBody } from '../http/encoding.ts'
import { wholeOf, type UpstreamAnswer } from '../exchange-types.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { When } from '../request/record-answer.ts'
import type { HiddenNext, HiddenSession } from './index.ts'
import { isRecord, type Fields } from '../../core/values.ts'

export interface HiddenWholeDeps<B> {
  readonly codec: Codec
  readonly hidden: HiddenSession
  readonly proceed: (request: HiddenNext) => Promise<UpstreamAnswer<B>>
  readonly isShared: boolean
  readonly recorded: (read: () => ModelResponse | undefined, when: When) => Promise<void>
}

/** A whole answer is kept until its end to be read; a longer one, packed or not, passes as it came. */
const MAX_BYTES = 16 * 1024 * 1024

export interface WholeAnswer {
  /** Undefined when the answer cannot be read: it is the client's as it came. */
  readonly bytes?: Uint8Array
  /** Everything that the upstream said is recorded. */
  readonly settled: Promise<void>
}

/** The one answer that the client gets for all that the upstream said; the bytes as they came where nothing was hidden. */
export async function hiddenWhole<B>(deps: HiddenWholeDeps<B>, first: UpstreamAnswer<B>): Promise<WholeAnswer> {
  const { codec, hidden } = deps
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
