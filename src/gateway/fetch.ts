import { PlimsollError } from '../core/errors.ts'
import { credentialChain, signatureIn, signed } from '../drivers/crypto/aws-signature.ts'
import { unreadCall } from '../formats/endpoints.ts'
import type { Gateway } from './gateway.ts'
import { toUpstream } from './http/headers.ts'
import { SESSION_HEADER } from './identity.ts'
import { AnswerBody, answerOf, type UpstreamAnswer } from './read-answer.ts'
import type { Reply, Transport } from './types.ts'

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** The gateway as a `fetch` for any SDK that accepts one. */
export function createFetch(gateway: Gateway, upstream: Fetch = globalThis.fetch): Fetch {
  const warned = new Set<string>()
  return async (input, init) => {
    const url = addressOf(input)
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    const path = url.pathname + url.search
    // Requests that are no model calls pass through unchanged, with streamed uploads and signals.
    if (gateway.routeOf(method.toUpperCase(), path) === undefined) {
      warnOnce(warned, unreadCall(method.toUpperCase(), url.pathname), url.host)
      return upstream(input, init)
    }
    // A request with this signal would leave a listener on it, and agents use one signal for a whole run.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : null)
    const request = new Request(input, { ...init, signal: null })
    const left = new AbortController()
    const given = new Uint8Array(await request.arrayBuffer())
    let current: UpstreamAnswer | undefined
    const transport: Transport = async ({ path: target, body, headers: changes, foreign, aside }) => {
      left.signal.throwIfAborted()
      // The runtime's own fetch negotiates and decodes encodings by itself.
      const { 'accept-encoding': _encodings, ...wanted } = changes
      const own = toUpstream(foreign === true ? {} : Object.fromEntries(request.headers), wanted)
      const to = new URL(url.origin + target)
      const isAsSigned = body === given && target === path
      const headers = isAsSigned ? own : await signedAnew(to, request.method, own, body)
      // The client can only cancel the first answer's body, so that also cancels the requests of later hidden steps.
      const both =
        current === undefined ? signal : AbortSignal.any(signal === null ? [left.signal] : [signal, left.signal])
      const response = await upstream(to.href, {
        method: request.method,
        headers,
        signal: both,
        body: body as BodyInit,
      })
      const answer = answerIn(response)
      if (aside !== true) current = answer
      return answer
    }
    const reply = await gateway.handle(
      {
        method: request.method,
        path,
        header: (name) => request.headers.get(name) ?? undefined,
        body: given,
        upstreams: [{ endpoint: url.origin }],
        // A session that the program names is the one that `plimsoll.session()` returns, whichever key pays.
        tenants: request.headers.has(SESSION_HEADER) ? 'one' : undefined,
      },
      transport,
    )
    return responseOf(reply, () => {
      left.abort()
      current?.body.discard()
    })
  }
}

/** Prefixes of keys that do not expire; other keys change with each renewal. */
const LASTING = 'AKIA'

/** A changed request is signed again. Requests without a signature stay unchanged. */
async function signedAnew(
  url: URL,
  method: string,
  headers: Record<string, string>,
  body: Uint8Array,
): Promise<Record<string, string>> {
  const signature = signatureIn(headers['authorization'])
  if (signature === undefined) return headers
  const { accessKeyId, region, service } = signature
  const own = await credentialChain()
  if (own.accessKeyId !== accessKeyId && (own.accessKeyId.startsWith(LASTING) || accessKeyId.startsWith(LASTING)))
    throw new PlimsollError(
      'bad-config',
      'The request was signed with another access key than the one that AWS gives here.',
      {
        advice: 'Give the client no credentials of its own, so that both use the standard chain; or use an API key.',
      },
    )
  return signed({ method, url, headers, body, service, region }, async () => own)
}

/** SDKs without a base URL request a path only. */
function addressOf(input: string | URL | Request): URL {
  const text = input instanceof Request ? input.url : String(input)
  if (URL.canParse(text)) return new URL(text)
  throw new PlimsollError('bad-input', `fetch() needs an absolute URL, not ${JSON.stringify(text.slice(0, 80))}.`, {
    advice: "Give the SDK a base URL like 'https://models.example.com/v1'.",
  })
}

/** Warns, because a model call that is not managed looks like one that is until it overflows. */
function warnOnce(warned: Set<string>, api: string | undefined, host: string): void {
  if (api === undefined || warned.has(api)) return
  warned.add(api)
  process.emitWarning(
    `Requests to ${host} are in the API format of ${api}, which Plimsoll does not read: they pass unchanged. docs/adapters.md lists adapters that manage them.`,
    { type: 'PlimsollWarning', code: 'UNMANAGED_CALL' },
  )
}

function answerIn({ status, statusText, headers, body }: Response): UpstreamAnswer {
  const reader = body?.getReader()
  // The body is already decoded; these headers describe the encoded one.
  const { 'content-encoding': _encoding, 'content-length': _length, ...given } = Object.fromEntries(headers)
  const cookies = headers.getSetCookie()
  const pieces = new AnswerBody(
    async () => (await reader?.read()) ?? { done: true, value: undefined },
    () => void reader?.cancel().catch(() => undefined),
  )
  return answerOf(status, cookies.length === 0 ? given : { ...given, 'set-cookie': cookies }, pieces, statusText)
}

/** Statuses whose responses have no body. */
const NO_BODY = new Set([204, 205, 304])

/** @param leave called when the program cancels the response. */
async function responseOf({ status, statusText, headers, body, settled }: Reply, leave: () => void): Promise<Response> {
  const own = new Headers()
  for (const [name, value = []] of Object.entries(headers))
    for (const one of typeof value === 'string' ? [value] : value) own.append(name, one)
  const init = { status, statusText, headers: own }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    await settled?.()
    return new Response(body as BodyInit, init)
  }
  const pieces = body[Symbol.asyncIterator]()
  if (NO_BODY.has(status)) {
    while ((await pieces.next()).done !== true);
    await settled?.()
    return new Response(null, init)
  }
  // A pull source keeps back-pressure.
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await pieces.next()
        if (done !== true) return controller.enqueue(value)
        await settled?.()
        controller.close()
      } catch (error) {
        await settled?.()
        controller.error(error)
      }
    },
    async cancel() {
      leave()
      await pieces.return?.()
      await settled?.()
    },
  })
  return new Response(stream, init)
}
