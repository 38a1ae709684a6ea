import type { ServerResponse } from 'node:http'
import { PlimsollError } from '../../core/errors.ts'
import { isLoopback } from '../access.ts'
import type { HeaderReader } from '../identity.ts'

/** Which requests may come out of a browser. Programs send neither `Origin` nor `Sec-Fetch-Site` and are not concerned. */
export interface OriginRules {
  /** The address is loopback, so any web page that the user opens can reach it. */
  readonly isLocal: boolean
  /** Further names that a local proxy is called by, behind a reverse proxy. */
  readonly allowedHosts: readonly string[]
  /** Origins of web pages that may call the proxy, as browsers write them: `https://chat.example`. */
  readonly allowedOrigins: readonly string[]
}

/**
 * Refuses what a web page sends without being permitted to. A page can reach every local port; with a name of its own that it points at
 * 127.0.0.1 it could even read the answers, so a local proxy answers to local names only.
 * @returns the permitted origin that asks, if one does
 * @throws PlimsollError `forbidden`
 */
export function checkOrigin(rules: OriginRules, header: HeaderReader): string | undefined {
  const host = header('host')
  if (rules.isLocal && host !== undefined && !isLocalName(nameOf(host)) && !rules.allowedHosts.includes(nameOf(host))) {
    throw refused(`This proxy does not answer to the name ${JSON.stringify(nameOf(host).slice(0, 100))}.`, {
      advice: 'Use 127.0.0.1 or localhost, or add the name with --allow-host or allowedHosts.',
    })
  }
  const origin = header('origin')
  if (origin !== undefined && rules.allowedOrigins.includes(origin)) return origin
  const site = header('sec-fetch-site') ?? 'none'
  const isOwn = origin === undefined || (host !== undefined && hostOf(origin) === host.toLowerCase())
  if (isOwn && (site === 'same-origin' || site === 'none')) return undefined
  throw refused('Requests from web pages are refused.', {
    advice: 'If this page is yours, add its origin with --allow-origin or allowedOrigins.',
  })
}

/** Lets a permitted page read the answer. */
export function admit(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', '*')
  response.setHeader('vary', 'origin')
}

/** A permitted page asks before it sends; nobody upstream need know. */
export function answerPreflight(header: HeaderReader, response: ServerResponse): void {
  response
    .writeHead(204, {
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': header('access-control-request-headers') ?? '*',
      'access-control-max-age': '600',
    })
    .end()
}

const refused = (message: string, options: { advice: string }): PlimsollError =>
  new PlimsollError('forbidden', message, options)

/** The name in a `Host` header, without port, brackets and the dot that may end it. Nearly all requests come under the same one. */
function nameOf(host: string): string {
  if (last.host === host) return last.name
  const name = host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
  last = { host, name }
  return name
}

let last = { host: '', name: '' }

/** RFC 6761: no name server may answer for `.localhost`. */
const isLocalName = (name: string): boolean => isLoopback(name) || name.endsWith('.localhost')

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)
