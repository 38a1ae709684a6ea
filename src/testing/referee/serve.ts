import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createReferee, type Referee } from './referee.ts'
import type { RefereeOptions, RefereeResponse } from './types.ts'

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

/** A referee behind a socket. */
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
      referee.close()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

async function serve(referee: Referee, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  const response = await referee.handle({
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers,
    body: Buffer.concat(chunks),
    signal: gone.signal,
  })
  await write(response, outgoing, gone.signal)
}

async function write(response: RefereeResponse, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  outgoing.writeHead(response.status, response.headers)
  try {
    for await (const chunk of response.body) {
      if (gone.aborted) return
      await flush(outgoing, chunk)
    }
  } catch {
    // The body was cut on purpose; what came before the cut has been flushed, so the client sees it.
    outgoing.destroy()
    return
  }
  outgoing.end()
}

/** Waits until a chunk has left the process: a slow client slows us down, and a cut swallows nothing. */
const flush = (outgoing: ServerResponse, chunk: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    outgoing.write(chunk, () => resolve())
  })
