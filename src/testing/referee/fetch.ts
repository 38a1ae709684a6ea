import type { Referee } from './referee.ts'
import { createReferee } from './referee.ts'
import type { RefereeOptions } from './options.ts'

/** A referee in this process: hand `referee.fetch` to an SDK, or call `referee.handle`. */
export function createInProcessReferee(options: RefereeOptions): Referee {
  const referee = createReferee(options)
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const response = await referee
      .handle({
        method: request.method,
        path: pathname + search,
        headers: Object.fromEntries(request.headers),
        body: new Uint8Array(await request.arrayBuffer()),
        signal: request.signal,
      })
      .catch((error: unknown) => {
        request.signal.throwIfAborted()
        throw new TypeError('fetch failed', { cause: error })
      })
    return new Response(toStream(response.body, request.signal), { status: response.status, headers: response.headers })
  }
  return { ...referee, fetch }
}

function toStream(body: AsyncIterable<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    start(controller) {
      signal.addEventListener('abort', () => controller.error(signal.reason), { once: true })
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next()
        if (signal.aborted) return
        if (done === true) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        controller.error(new TypeError('terminated', { cause: error }))
      }
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}
