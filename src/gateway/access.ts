import { createHash, timingSafeEqual } from 'node:crypto'
import { PlimsollError } from '../core/errors.ts'
import type { HeaderReader } from './identity.ts'

export const TOKEN_HEADER = 'x-plimsoll-token'

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1)$/

export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/** @throws PlimsollError `bad-config`: an open proxy would hand out what it stores to the whole network. */
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

/** Whether a token was given that is one of these. */
export const isOneOf = (tokens: readonly (string | undefined)[], given: string | undefined): boolean =>
  given !== undefined &&
  tokens
    .map((token) => token !== undefined && token !== '' && timingSafeEqual(digest(given), digest(token)))
    .includes(true)

/** The operator's own token opens whatever the clients' token opens. @throws PlimsollError `forbidden` */
export function authorise(expected: string | undefined, given: string | undefined, operatorToken?: string): void {
  if (expected === undefined || expected === '' || isOneOf([expected, operatorToken], given)) return
  throw unauthorised('This proxy needs its token.', `Send it as ${TOKEN_HEADER}, or put /t/<token> before the path.`)
}

/** Answered with 401: the same request with a token may pass. */
export const unauthorised = (message: string, advice: string): PlimsollError =>
  new PlimsollError('forbidden', message, { advice, fields: { status: 401 } })

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
