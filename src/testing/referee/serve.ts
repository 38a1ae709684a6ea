import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createReferee, type Referee } from './referee.ts'
import type { RefereeOptions } from './types.ts'

/** A referee in this process: pass `referee.fetch` to an SDK, or call `referee.handle`. */
export function createInProcessReferee(options: RefereeOptions): Referee {
  const referee = createReferee(options)
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const { host, pathname, search } = new URL(request.url)
    const response = await referee
      .handle({
        method: request.method,
        path: pathname + search,
        headers: { host, ...Object.fromEntries(request.headers) },
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

export interface StartRefereeOptions extends RefereeOptions {
  /** 0 takes a free port. @default 0 */
  readonly port?: number
  /** @default '127.0.0.1' */
  readonly host?: string
}

export interface RunningReferee extends Omit<Referee, 'close'> {
  /** Base URL without a path, e.g. `http://127.0.0.1:49152`. */
  readonly url: string
  close(): Promise<void>
}

export async function startReferee(options: StartRefereeOptions): Promise<RunningReferee> {
  const { port = 0, host = '127.0.0.1' } = options
  const referee = createInProcessReferee(options)
  const server = createServer((incoming, outgoing) => {
    serve(referee, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return {
    ...referee,
    url: `http://${host}:${bound}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      try {
        referee.close()
      } finally {
        server.closeAllConnections()
        await closed
      }
    },
  }
}

async function serve(referee: Referee, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const headers = Object.entries(incoming.headers).map(
    ([name, value]) => [name, [value ?? []].flat().join(', ')] as const,
  )
  const response = await referee.handle({
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks),
    signal: gone.signal,
  })
  outgoing.writeHead(response.status, response.headers)
  // A body that is cut on purpose throws; the client has received the part before the cut.
  for await (const chunk of response.body) {
    if (gone.signal.aborted) return
    // Waits for a slow client, and so that a cut loses nothing before it.
    await new Promise<void>((resolve) => outgoing.write(chunk, () => resolve()))
  }
  outgoing.end()
}
