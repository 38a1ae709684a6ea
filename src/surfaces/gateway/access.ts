import { createHash, timingSafeEqual } from 'node:crypto'
import { PlimsollError } from '../../core/errors.ts'
import type { HeaderReader } from './identity.ts'

const TOKEN_HEADER = 'x-plimsoll-token'

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1)$/

const isLoopback = (host: string): boolean => LOOPBACK.test(host)

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

/** @throws PlimsollError `forbidden` */
export function authorise(expected: string | undefined, given: string | undefined): void {
  if (expected === undefined || expected === '') return
  if (given !== undefined && timingSafeEqual(digest(given), digest(expected))) return
  throw new PlimsollError('forbidden', 'This proxy asks for its token.', {
    advice: `Send it as ${TOKEN_HEADER}, or put /t/<token> before the path.`,
  })
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
