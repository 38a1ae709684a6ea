import type { Gateway } from './gateway.ts'

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** The gateway as a `fetch` for any SDK that takes one. */
export function createFetch(gateway: Gateway, upstream: Fetch = globalThis.fetch): Fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    const body = new Uint8Array(await request.arrayBuffer())
    const outgoing = await gateway.accept({
      method: request.method,
      path: url.pathname + url.search,
      header: (name) => request.headers.get(name) ?? undefined,
      body,
      endpoint: url.origin,
    })
    if (outgoing.kind === 'answer') {
      const { status, headers, body: text } = outgoing.answer
      return new Response(text, { status, headers })
    }
    const headers = new Headers(request.headers)
    headers.delete('content-length')
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
    const response = await upstream(request.url, {
      method: request.method,
      headers,
      signal: request.signal,
      ...(hasBody && { body: outgoing.kind === 'pass' ? body : outgoing.body }),
    })
    if (outgoing.kind === 'pass') return response
    const observer = outgoing.turn.observe(response.status, response.headers.get('content-type') ?? '')
    return watched(response, observer, outgoing.headers)
  }
}

function watched(
  response: Response,
  observer: { chunk(bytes: Uint8Array): void; end(): Promise<void> },
  extra: Readonly<Record<string, string>>,
): Response {
  const headers = new Headers(response.headers)
  // The body below is decoded already; these two describe what travelled.
  headers.delete('content-encoding')
  headers.delete('content-length')
  for (const [name, value] of Object.entries(extra)) headers.set(name, value)
  const { status, statusText } = response
  if (response.body === null) {
    void observer.end()
    return new Response(null, { status, statusText, headers })
  }
  const reader = response.body.getReader()
  let ended = false
  const finish = async (): Promise<void> => {
    if (ended) return
    ended = true
    await observer.end()
  }
  // A pull source keeps back-pressure, and its cancel reaches the upstream when the client walks away.
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          await finish()
          controller.close()
          return
        }
        observer.chunk(value)
        controller.enqueue(value)
      } catch (error) {
        await finish()
        controller.error(error)
      }
    },
    async cancel(reason) {
      await finish()
      await reader.cancel(reason)
    },
  })
  return new Response(body, { status, statusText, headers })
}
