import { PlimsollError } from '../core/errors.ts'
import type { Answer } from './answer.ts'
import type { Reply, Tap, Transport, UpstreamAnswer } from './types.ts'
import type { Gateway } from './gateway.ts'
import { unreadCall } from '../formats/endpoints.ts'
import { SESSION_HEADER } from './identity.ts'
import { goesToClient, goesUpstream, namedIn } from './headers.ts'

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

type Body = ReadableStream<Uint8Array> | null

/** The gateway as a `fetch` for any SDK that takes one. */
export function createFetch(gateway: Gateway, upstream: Fetch = globalThis.fetch): Fetch {
  const warned = new Set<string>()
  return async (input, init) => {
    const url = addressOf(input)
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    const path = url.pathname + url.search
    // What is no model call goes on untouched: streamed uploads, signals and all.
    if (gateway.routeOf(method.toUpperCase(), path) === undefined) {
      warnOnce(warned, unreadCall(method.toUpperCase(), url.pathname), url.host)
      return upstream(input, init)
    }
    // A request that follows the signal would leave a listener on it, and agents keep one signal for a whole run.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : null)
    const request = new Request(input, { ...init, signal: null })
    /** Says that the client no longer reads. */
    const left = new AbortController()
    const reply = await gateway.handle(
      {
        method: request.method,
        path,
        header: (name) => request.headers.get(name) ?? undefined,
        body: new Uint8Array(await request.arrayBuffer()),
        upstreams: [{ endpoint: url.origin }],
        // A session that the program names is its own, the one that `plimsoll.session()` gives, whichever key pays.
        ...(request.headers.has(SESSION_HEADER) && { tenants: 'one' }),
      },
      transportOf(request, signal, left.signal, url, upstream),
    )
    if (reply.kind === 'answer') return responseOf(reply.answer)
    await reply.settled
    // Nobody reads to the end of what has no body.
    if (reply.body === undefined && reply.from.body === null) await (await reply.tap?.end(true))?.settled
    return relayed(reply, () => left.abort())
  }
}

/** SDKs whose base URL is missing ask for a path. */
function addressOf(input: string | URL | Request): URL {
  const text = input instanceof Request ? input.url : String(input)
  if (URL.canParse(text)) return new URL(text)
  throw new PlimsollError('bad-input', `fetch() needs an absolute URL, not ${JSON.stringify(text.slice(0, 80))}.`, {
    advice: "Give the SDK a base URL like 'https://models.example.com/v1'.",
  })
}

/** A model call that nobody manages looks like one that is, until it overflows. */
function warnOnce(warned: Set<string>, api: string | undefined, host: string): void {
  if (api === undefined || warned.has(api)) return
  warned.add(api)
  process.emitWarning(
    `Requests to ${host} are in the API format of ${api}, which Plimsoll does not read: they pass unchanged. docs/adapters.md lists adapters that manage them.`,
    { type: 'PlimsollWarning', code: 'UNMANAGED_CALL' },
  )
}

function transportOf(
  request: Request,
  signal: AbortSignal | null,
  left: AbortSignal,
  url: URL,
  upstream: Fetch,
): Transport<Body> {
  let isFirst = true
  return {
    async send({ path, body, headers: changes, foreign }) {
      const headers = new Headers()
      const ownConnection = namedIn(request.headers.get('connection'))
      for (const [name, value] of foreign === true ? [] : request.headers) {
        if (goesUpstream(name, ownConnection)) headers.append(name, value)
      }
      for (const [name, value] of Object.entries(changes)) {
        // The runtime's own fetch negotiates and unpacks by itself.
        if (name === 'accept-encoding') continue
        if (value === undefined) headers.delete(name)
        else headers.set(name, value)
      }
      const { method } = request
      // The body of the first answer is what the client cancels; a request that follows it in a hidden step has nobody else to stop it.
      const both = isFirst ? signal : signal === null ? left : AbortSignal.any([signal, left])
      isFirst = false
      return answerOf(await upstream(url.origin + path, { method, headers, signal: both, body: body as BodyInit }))
    },
  }
}

/** An answer with the response that it came in, and the one reader of its body. */
interface FetchAnswer extends UpstreamAnswer<Body> {
  readonly response: Response
  readonly source: Source
}

function answerOf(response: Response): FetchAnswer {
  const source = sourceOf(response.body)
  return {
    response,
    source,
    taken: source.taken,
    peek: (waitMs) => source.peek(waitMs),
    status: response.status,
    // The body is unpacked already; this header describes what travelled.
    header: (name) => (name === 'content-encoding' ? undefined : (response.headers.get(name) ?? undefined)),
    body: response.body,
    rewritten({ contentType, chunk, end }) {
      const rewriting = new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, controller) => controller.enqueue(chunk(bytes)),
        flush: (controller) => controller.enqueue(end()),
      })
      const headers = new Headers(response.headers)
      headers.set('content-type', contentType)
      const { status, statusText } = response
      return answerOf(new Response(response.body?.pipeThrough(rewriting) ?? null, { status, statusText, headers }))
    },
    discard: () => void source.cancel().catch(() => undefined),
  }
}

/** One reader of a body. A read that came too late for `peek` is the next one's. */
interface Source {
  readonly taken: Uint8Array[]
  peek(waitMs: number): Promise<Uint8Array | 'end' | 'late'>
  next(): Promise<ReadableStreamReadResult<Uint8Array>>
  cancel(reason?: unknown): Promise<void>
}

function sourceOf(body: Body): Source {
  const taken: Uint8Array[] = []
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let pending: Promise<ReadableStreamReadResult<Uint8Array>> | undefined
  const read = (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    if (body === null) return Promise.resolve({ done: true, value: undefined })
    pending ??= (reader ??= body.getReader()).read()
    return pending
  }
  const next = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    const result = await read()
    pending = undefined
    return result
  }
  return {
    taken,
    next,
    async peek(waitMs) {
      if (waitMs !== Infinity) {
        const { promise: late, stop } = after(waitMs)
        const first = await Promise.race([read(), late]).finally(stop)
        if (first === 'late') return first
      }
      const { done, value } = await next()
      if (done) return 'end'
      taken.push(value)
      return value
    },
    cancel: async (reason) => (reader ?? body)?.cancel(reason),
  }
}

function after(waitMs: number): { promise: Promise<'late'>; stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  const promise = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), Math.max(0, waitMs))
  })
  return { promise, stop: () => clearTimeout(timer) }
}

const responseOf = ({ status, headers, body }: Answer): Response => new Response(body as BodyInit, { status, headers })

function relayed(
  { from, headers: extra, body: whole, tap }: Extract<Reply<Body>, { kind: 'relay' }>,
  leave: () => void,
): Response {
  const { response, source } = from as FetchAnswer
  const headers = new Headers()
  const itsConnection = namedIn(response.headers.get('connection'))
  for (const [name, value] of response.headers) {
    if (goesToClient(name, itsConnection) && name !== 'content-encoding' && name !== 'content-length')
      headers.append(name, value)
  }
  for (const [name, value] of Object.entries(extra)) headers.set(name, value)
  const { status, statusText } = response
  if (whole !== undefined || from.body === null)
    return new Response((whole ?? null) as BodyInit | null, { status, statusText, headers })
  const untouched = tap === undefined && source.taken.length === 0
  return new Response(untouched ? from.body : tapped(source, tap ?? AS_IT_IS, leave), { status, statusText, headers })
}

const AS_IT_IS: Tap<Body> = { chunk: (bytes) => bytes, end: async () => ({}) }

/** A pull source keeps back-pressure, and its cancel reaches the upstream when the client walks away. */
function tapped(first: Source, tap: Tap<Body>, leave: () => void): ReadableStream<Uint8Array> {
  let source = first
  let waiting = [...first.taken]
  let ended = false
  const finish = async (complete: boolean): Promise<Awaited<ReturnType<Tap<Body>['end']>>> => {
    if (ended) return {}
    ended = true
    return tap.end(complete)
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const held = waiting.shift()
          const { done, value } = held === undefined ? await source.next() : { done: false as const, value: held }
          if (done) {
            const { bytes, next, settled } = await finish(true)
            await settled
            if (bytes !== undefined) controller.enqueue(bytes)
            if (next?.body === undefined || next.body === null) return controller.close()
            source = (next as FetchAnswer).source
            waiting = [...source.taken]
            ended = false
            continue
          }
          const passed = tap.chunk(value)
          if (passed === undefined || passed.length === 0) continue
          return controller.enqueue(passed)
        }
      } catch (error) {
        await (
          await finish(false)
        ).settled
        controller.error(error)
      }
    },
    async cancel(reason) {
      tap.cancel?.()
      leave()
      const [ended] = await Promise.all([finish(false), source.cancel(reason)])
      await ended.settled
    },
  })
}
