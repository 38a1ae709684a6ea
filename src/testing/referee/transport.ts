import type { StreamEvent } from '../../core/codec.ts'
import type { Fault } from './fault.ts'
import type { RefereeOptions } from './options.ts'
import type { RefereeResponse } from './types.ts'

/** The connection broke: the body ends in the middle. */
class ConnectionCut extends Error {
  override readonly name = 'ConnectionCut'
  constructor() {
    super('The connection was cut.')
  }
}

// oxlint-disable-next-line typescript/require-await -- the body of a response is asynchronous for all senders
export async function* sendBytes(text: string, cut = false): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  yield cut ? bytes.subarray(0, bytes.length >> 1) : bytes
  if (cut) throw new ConnectionCut()
}

export interface EventStream {
  readonly options: Pick<RefereeOptions, 'chunkBytes' | 'keepAliveEvery' | 'pace' | 'seed'>
  readonly events: readonly StreamEvent[]
  readonly fault: Fault | undefined
  readonly errorEvent: StreamEvent
  readonly keepAlive: string
  readonly write: (event: StreamEvent) => string
}

/** Sends events one by one, with the faults that a stream can have. */
export async function* sendEvents(stream: EventStream): AsyncGenerator<Uint8Array> {
  const { events, fault } = stream
  const { chunkBytes, keepAliveEvery, pace, seed = 1 } = stream.options
  const faultAt =
    fault?.kind === 'cut-stream' || fault?.kind === 'error-event' ? (fault.afterEvents ?? events.length >> 1) : Infinity
  const split = splitter(chunkBytes, seed)
  for (const [index, event] of events.entries()) {
    if (index >= faultAt) {
      if (fault?.kind === 'cut-stream') throw new ConnectionCut()
      yield* split(stream.write(stream.errorEvent))
      return
    }
    await pace?.(index)
    if (keepAliveEvery !== undefined && index > 0 && index % keepAliveEvery === 0) yield* split(stream.keepAlive)
    yield* split(stream.write(event))
  }
}

/** Cuts bytes into pieces of seeded random size, so that characters and events break between chunks. */
function splitter(chunkBytes: number | undefined, seed: number): (text: string) => Generator<Uint8Array> {
  let state = seed >>> 0 || 1
  const next = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 1 + (state % limit)
  }
  return function* split(text) {
    const bytes = Buffer.from(text)
    if (chunkBytes === undefined) {
      yield bytes
      return
    }
    for (let at = 0; at < bytes.length;) {
      const size = next(chunkBytes)
      yield bytes.subarray(at, at + size)
      at += size
    }
  }
}

/** Never answers; ends when the client gives up or the referee closes. */
export function hang(closed: AbortSignal, client?: AbortSignal): Promise<RefereeResponse> {
  return new Promise((_resolve, reject) => {
    const giveUp = (): void => reject(new ConnectionCut())
    for (const signal of [closed, ...(client === undefined ? [] : [client])]) {
      if (signal.aborted) giveUp()
      signal.addEventListener('abort', giveUp, { once: true })
    }
  })
}
