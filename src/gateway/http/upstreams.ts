import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { rootCertificates } from 'node:tls'
// Imported by its file, because Bun replaces the package by a built-in module that lacks this.
import { type Dispatcher, Agent, EnvHttpProxyAgent } from 'undici/index.js'
import { PlimsollError } from '../../core/errors.ts'
import { signatureIn, signed } from '../../drivers/crypto/aws-signature.ts'
import { endpointAtRoot, signerAt, type Endpoint, type HeaderReader } from '../../formats/endpoints.ts'
import type { UpstreamConfig, Upstreams } from '../../settings/settings.ts'
import { toUpstream } from './headers.ts'
import { AnswerBody, answerOf, type UpstreamAnswer } from '../read-answer.ts'
import type { Transport, Upstream } from '../types.ts'

/** An upstream with the settings that only the shell needs. */
export interface ProxyUpstream extends Upstream {
  readonly base: URL
  readonly headers: Readonly<Record<string, string>>
  /** The service for which requests without a key are signed. */
  readonly signer?: Endpoint
}

export type UpstreamTable = ReturnType<typeof upstreamTable>

/** @throws PlimsollError `bad-config` if it is no http(s) URL */
export function upstreamTable(upstreams: Upstreams) {
  const table = new Map<string, readonly ProxyUpstream[]>()
  for (const [prefix, given] of Object.entries(upstreams)) {
    const list = (Array.isArray(given) ? given : [given]) as readonly (string | UpstreamConfig)[]
    if (list.length > 0)
      table.set(
        prefix,
        list.map((one) => readUpstream(prefix, one)),
      )
  }
  return {
    prefixes: [...table.keys()],
    /** The upstream of a request, and its path there; undefined for a path without an upstream. */
    resolve(path: string, header: HeaderReader) {
      const [, first = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(path) ?? []
      const named = table.get(first)
      if (named !== undefined) return { upstreams: named, path: rest.startsWith('/') ? rest : `/${rest}` }
      const meant = table.get(endpointAtRoot(path, header)?.name ?? '')
      return meant === undefined ? undefined : { upstreams: meant, path }
    },
  }
}

function readUpstream(provider: string, given: string | UpstreamConfig): ProxyUpstream {
  const { url, model, window, wire, headers = {} } = typeof given === 'string' ? { url: given } : given
  let base: URL
  try {
    base = new URL(url)
  } catch (cause) {
    throw new PlimsollError('bad-config', `The upstream ${JSON.stringify(url)} of ${provider} is not a URL.`, {
      advice: 'Use an address such as http://127.0.0.1:8080.',
      cause,
    })
  }
  if (base.protocol !== 'http:' && base.protocol !== 'https:') {
    throw new PlimsollError(
      'bad-config',
      `The upstream ${JSON.stringify(url)} of ${provider} is not an http or https address.`,
    )
  }
  if (wire !== undefined && model === undefined) {
    throw new PlimsollError(
      'bad-config',
      `The upstream ${url} has the API format ${wire} and needs a model of its own.`,
      {
        advice: 'Add model to it.',
      },
    )
  }
  return {
    endpoint: base.origin + base.pathname.replace(/\/+$/, ''),
    base,
    provider,
    headers,
    model,
    window,
    wire,
    signer: signerAt(provider, base),
  }
}

/**
 * The URL to call. A base that ends in the version (`…/v1`) takes a path that begins with it.
 * @throws PlimsollError `bad-input` when dots in the path lead out of the configured base.
 */
function upstreamUrl({ base }: ProxyUpstream, path: string): URL {
  const root = base.pathname.replace(/\/+$/, '')
  const version = /\/v\d+[a-z]*$/.exec(root)?.[0]
  const repeated = version !== undefined && (path === version || path.startsWith(`${version}/`))
  const url = new URL(base.origin + root + (repeated ? path.slice(version.length) : path))
  if (url.origin !== base.origin || !(url.pathname === root || url.pathname.startsWith(`${root}/`))) {
    throw new PlimsollError('bad-input', 'The path leads out of the configured upstream.')
  }
  return url
}

/** The client's own request with changes, sent to an upstream. */
export function transportOf(dispatcher: Dispatcher, incoming: IncomingMessage, gone: AbortSignal): Transport {
  return async ({ upstream, path, body, headers: changes, foreign }) => {
    const { headers: own, base } = upstream as ProxyUpstream
    const sent = toUpstream(foreign === true ? {} : incoming.headers, { ...changes, ...own })
    const url = upstreamUrl(upstream as ProxyUpstream, path)
    const headers = await authorised(upstream as ProxyUpstream, 'POST', url, sent, body)
    const { origin, pathname, search } = url
    const content = body.length > 0 ? body : null
    const call = (): Promise<Dispatcher.ResponseData> =>
      dispatcher.request({ origin, path: pathname + search, method: 'POST', headers, body: content, signal: gone })
    // A kept-alive connection may be closed just when it is reused, so the request is tried once more on a new one.
    const given = await call()
      .catch((error: unknown) => {
        if (isStale(error) && !gone.aborted) return call()
        throw error
      })
      .catch(unreachable(base.host))
    return answerIn(base.host, given)
  }
}

/**
 * A request without a key gets the proxy's: the key from the environment, or a signature. A signature of the client is over our address
 * and its own bytes, so it is replaced.
 */
async function authorised(
  { signer, base }: ProxyUpstream,
  method: string,
  url: URL,
  headers: Record<string, string>,
  body: Uint8Array,
): Promise<Record<string, string>> {
  const { authorization } = headers
  const signature = signatureIn(authorization)
  if (signer?.signing === undefined || (authorization !== undefined && signature === undefined)) return headers
  const key = signer.keys.map((name) => process.env[name]).find(Boolean)
  if (key !== undefined) return { ...headers, ...signer.headers(key) }
  const { service } = signer.signing
  const region = signer.signing.region(base, { ...process.env, ...(signature && { AWS_REGION: signature.region }) })
  return signed({ method, url, headers, body, service, region })
}

/** Forwards requests that are no model calls: streamed both ways, never read. A body is only read in full if it has to be signed. */
export async function passThrough(
  dispatcher: Dispatcher,
  upstream: ProxyUpstream,
  path: string,
  incoming: IncomingMessage,
  gone: AbortSignal,
  whole?: Uint8Array,
): Promise<UpstreamAnswer> {
  const { method = 'GET' } = incoming
  const length = incoming.headers['content-length']
  const hasBody = length !== undefined || incoming.headers['transfer-encoding'] !== undefined
  const url = upstreamUrl(upstream, path)
  const sent = toUpstream(incoming.headers, { 'content-length': length, ...upstream.headers })
  const given = await dispatcher
    .request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: method as Dispatcher.HttpMethod,
      headers: whole === undefined ? sent : await authorised(upstream, method, url, sent, whole),
      body: hasBody ? (whole ?? incoming) : null,
      signal: gone,
    })
    .catch(unreachable(upstream.base.host))
  return answerIn(upstream.base.host, given)
}

const isStale = (error: unknown): boolean =>
  ['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes((error as NodeJS.ErrnoException).code ?? '')

const unreachable =
  (host: string) =>
  (cause: unknown): never => {
    const error = cause as NodeJS.ErrnoException
    const late = error.code === 'UND_ERR_HEADERS_TIMEOUT' || error.code === 'UND_ERR_CONNECT_TIMEOUT'
    throw new PlimsollError(
      late ? 'timeout' : 'upstream',
      `The upstream ${host} failed: ${error.code ?? error.message}.`,
      {
        advice: 'Check its address and the network; plimsoll doctor tries both.',
        retryable: true,
        fields: { host },
        cause,
      },
    )
  }

function answerIn(host: string, { statusCode, headers, body }: Dispatcher.ResponseData): UpstreamAnswer {
  // An abandoned body emits an error, which is ignored.
  body.on('error', () => undefined)
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const read = (): ReturnType<typeof pieces.next> => pieces.next().catch(unreachable(host))
  return answerOf(statusCode, headers, new AnswerBody(read, () => void body.destroy()))
}

export interface ConnectionOptions {
  /** Time until an upstream begins to answer. @default 600_000 */
  readonly upstreamTimeoutMs?: number
  /** Longest pause within an answer. Models may think for minutes without sending a byte. @default 600_000 */
  readonly upstreamIdleMs?: number
  /** PEM file with additional certificate authorities; NODE_EXTRA_CA_CERTS works too. */
  readonly caFile?: string
}

const CONNECT_TIMEOUT_MS = 10_000

/** Connections to upstreams: kept alive, through HTTPS_PROXY if it is set and NO_PROXY permits it. */
export function createDispatcher(options: ConnectionOptions): Dispatcher {
  const { upstreamTimeoutMs = 600_000, upstreamIdleMs = 600_000, caFile } = options
  const settings = {
    headersTimeout: upstreamTimeoutMs,
    bodyTimeout: upstreamIdleMs,
    connections: 1_024,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      ...(caFile !== undefined && { ca: [...rootCertificates, certificatesIn(caFile)] }),
    },
  }
  const { env } = process
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => (env[name] ?? '') !== '')
  return proxied ? new EnvHttpProxyAgent(settings) : new Agent(settings)
}

function certificatesIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PlimsollError('bad-config', `The certificate file ${file} cannot be read.`, {
      advice: 'Give a PEM file with --ca-file, PLIMSOLL_CA_FILE or caFile.',
      cause,
    })
  }
}
