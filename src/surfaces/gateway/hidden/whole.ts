import type { Codec, ModelResponse } from '../../../core/codec.ts'
import { decodeBody } from '../http/encoding.ts'
import type { UpstreamAnswer } from '../exchange.ts'
import type { HiddenSession } from './index.ts'
import { type Fields, isRecord } from '../../../core/values.ts'

export interface HiddenWholeDeps<B> {
  readonly codec: Codec
  readonly hidden: HiddenSession
  readonly proceed: (text: string) => Promise<UpstreamAnswer<B>>
  readonly isShared: boolean
  readonly recorded: (response: ModelResponse | undefined) => Promise<void>
}

/** A whole answer is kept until its end to be read. */
const MAX_BYTES = 64 * 1024 * 1024

export interface WholeAnswer {
  readonly bytes: Uint8Array
  /** Everything that the upstream said is recorded. */
  readonly settled: Promise<void>
}

/** The one answer that the client gets for all that the upstream said; the bytes as they came where nothing was hidden. */
export async function hiddenWhole<B>(deps: HiddenWholeDeps<B>, first: UpstreamAnswer<B>): Promise<WholeAnswer> {
  const { codec, hidden } = deps
  const bodies: Fields[] = []
  const visible: Fields[] = []
  for (let answer = first; ;) {
    const bytes = await decodeBody(await answer.bytes(MAX_BYTES), answer.header('content-encoding'), MAX_BYTES)
    const body = parse(bytes)
    // The answer need not wait for a disk: in this process whatever comes next in the session is recorded after it.
    const settled = deps.recorded(body === undefined ? undefined : read(codec, body))
    if (deps.isShared) await settled
    if (body === undefined) return { bytes, settled }
    bodies.push(body)
    const parts = hidden.partsOf(body)
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

function parse(bytes: Uint8Array): Fields | undefined {
  try {
    const body: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isRecord(body) ? body : undefined
  } catch {
    return undefined
  }
}

function read(codec: Codec, body: Fields): ModelResponse | undefined {
  try {
    return codec.readResponse(body)
  } catch {
    return undefined
  }
}
