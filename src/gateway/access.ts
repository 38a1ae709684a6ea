import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlimsollError } from '../core/errors.ts'
import type { HeaderReader } from '../formats/endpoints.ts'

export const TOKEN_HEADER = 'x-plimsoll-token'

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1)$/

export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/** @throws PlimsollError `bad-config`: without a token, the whole network could read what the proxy stores */
export function needsToken(host: string, token: string | undefined): void {
  if (isLoopback(host) || (token !== undefined && token !== '')) return
  throw new PlimsollError('bad-config', `Listening on ${host} needs a token, since others can reach it.`, {
    advice: 'Set PLIMSOLL_TOKEN, or listen on 127.0.0.1.',
  })
}

/** Many agents can set a base URL and no header, so the token may stand in the path: `/t/<token>/anthropic`. */
export function takeToken(path: string, header: HeaderReader): { token: string | undefined; path: string } {
  const inPath = /^\/t\/([^/?]+)(\/.*)$/s.exec(path)
  return inPath === null ? { token: header(TOKEN_HEADER), path } : { token: inPath[1], path: inPath[2]! }
}

/** Whether the given token is one of these. */
export const isOneOf = (tokens: readonly (string | undefined)[], given: string | undefined): boolean =>
  given !== undefined &&
  tokens
    .map((token) => token !== undefined && token !== '' && timingSafeEqual(digest(given), digest(token)))
    .includes(true)

/** The operator's token also permits what the clients' token permits. @throws PlimsollError `forbidden` */
export function authorise(expected: string | undefined, given: string | undefined, operatorToken?: string): void {
  if (expected === undefined || expected === '' || isOneOf([expected, operatorToken], given)) return
  throw unauthorised('This proxy needs its token.', `Send it as ${TOKEN_HEADER}, or put /t/<token> before the path.`)
}

/** Answered with 401, because the same request with a token may be permitted. */
export const unauthorised = (message: string, advice: string): PlimsollError =>
  new PlimsollError('forbidden', message, { advice, fields: { status: 401 } })

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export const headerReader =
  (incoming: IncomingMessage): HeaderReader =>
  (name) => {
    const value = incoming.headers[name]
    return typeof value === 'object' ? value[0] : value
  }

/** Which requests of browsers are permitted. Programs send neither `Origin` nor `Sec-Fetch-Site` and are always permitted. */
export interface OriginRules {
  /** The address is loopback, so any web page that the user opens can reach it. */
  readonly isLocal: boolean
  /** Additional host names of a local proxy behind a reverse proxy. */
  readonly allowedHosts: readonly string[]
  /** Origins of web pages that may call the proxy, as browsers write them: `https://chat.example`. */
  readonly allowedOrigins: readonly string[]
}

/**
 * Refuses requests of web pages that are not permitted. A page can reach every local port; if its own host name resolves to
 * 127.0.0.1, it could even read the answers, so a local proxy only accepts local host names.
 * @returns the permitted origin that asks, if one does
 * @throws PlimsollError `forbidden`
 */
export function checkOrigin(rules: OriginRules, header: HeaderReader): string | undefined {
  const host = header('host')
  const name = rules.isLocal && host !== undefined ? nameOf(host) : 'localhost'
  if (!isLocalName(name) && !rules.allowedHosts.includes(name)) {
    throw new PlimsollError(
      'forbidden',
      `This proxy does not answer to the name ${JSON.stringify(name.slice(0, 100))}.`,
      {
        advice: 'Use 127.0.0.1 or localhost, or add the name with --allow-host or allowedHosts.',
      },
    )
  }
  const origin = header('origin')
  if (origin !== undefined && rules.allowedOrigins.includes(origin)) return origin
  const site = header('sec-fetch-site') ?? 'none'
  const isOwn = origin === undefined || (host !== undefined && hostOf(origin) === host.toLowerCase())
  if (isOwn && (site === 'same-origin' || site === 'none')) return undefined
  throw new PlimsollError('forbidden', 'Requests from web pages are refused.', {
    advice: 'If this page is yours, add its origin with --allow-origin or allowedOrigins.',
  })
}

/** Lets a permitted page read the answer. */
export function admit(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', '*')
  response.setHeader('vary', 'origin')
}

/** A permitted page asks before it sends; that question does not go upstream. */
export function answerPreflight(header: HeaderReader, response: ServerResponse): void {
  response
    .writeHead(204, {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': header('access-control-request-headers') ?? '*',
      'access-control-max-age': '600',
    })
    .end()
}

/** The name in a `Host` header, without port, brackets and the dot that may end it. */
const nameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')

/** RFC 6761: no name server may answer for `.localhost`. */
const isLocalName = (name: string): boolean => isLoopback(name) || name.endsWith('.localhost')

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)
