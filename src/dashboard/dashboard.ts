import { parsedJson, isRecord } from '../core/values.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isPlimsollError, PlimsollError } from '../core/errors.ts'
import { isHandle } from '../core/handles.ts'
import type { Audience } from '../gateway/operate/audience.ts'
import { statusOf } from '../gateway/answer.ts'
import type { Dashboard } from '../gateway/http/serve.ts'
import { type Asked, type RouteDeps, ROUTES } from './routes.ts'
import { staticFile } from './static-files.ts'

const API = '/plimsoll/ui/'
const DOWNLOAD = '/plimsoll/download/'
/** Enough for the largest request, a hundred sessions by name. */
const MOST_BODY_BYTES = 1024 * 1024

/** Text of models and tools must stay text: only our own scripts, no frames, no forms, nothing from other hosts. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Sent by our page, and impossible for forms and links: browsers ask before they send it across origins. */
const PAGE_HEADER = 'x-plimsoll-page'

export function createDashboard(deps: RouteDeps): Dashboard {
  return {
    isOpen: (path) => path === '/' || path.startsWith('/?') || path.startsWith('/assets/'),
    serves: (path) => path.startsWith(API) || path.startsWith(DOWNLOAD),
    async handle({ incoming, response, path, audience }) {
      const url = new URL(path, 'http://page')
      try {
        if (url.pathname.startsWith(API)) {
          const body = await answerOf(deps, incoming, url, await audience())
          await send(incoming, response, 200, 'application/json', JSON.stringify(body))
        } else if (url.pathname.startsWith(DOWNLOAD)) await download(deps, response, url, await audience())
        else await page(incoming, response, url.pathname)
      } catch (error) {
        const known = isPlimsollError(error)
        const given = known ? error.fields['status'] : 500
        const status = typeof given === 'number' ? given : statusOf(error as PlimsollError)
        const message = known ? error.message : `The page could not be answered: ${(error as Error).message}`
        const advice = known ? error.advice : undefined
        if (response.headersSent) response.destroy()
        else await send(incoming, response, status, 'application/json', JSON.stringify({ error: { message, advice } }))
      }
    },
  }
}

async function answerOf(deps: RouteDeps, incoming: IncomingMessage, url: URL, audience: Audience): Promise<unknown> {
  const name = url.pathname.slice(API.length)
  const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined
  if (route === undefined) throw new PlimsollError('not-found', `There is no route ${JSON.stringify(url.pathname)}.`)
  if (incoming.method !== route.method) throw new PlimsollError('bad-input', `Use ${route.method} for ${name}.`)
  if (route.method === 'GET') return route.answer(deps, Object.fromEntries(url.searchParams), audience)
  if (incoming.headers[PAGE_HEADER] === undefined)
    throw new PlimsollError('forbidden', `Only the dashboard may change data; the header ${PAGE_HEADER} is missing.`)
  return route.answer(deps, await bodyOf(incoming), audience)
}

async function bodyOf(incoming: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BODY_BYTES)
      throw new PlimsollError('too-large', `The body is larger than ${MOST_BODY_BYTES} bytes.`)
    chunks.push(chunk)
  }
  const value = parsedJson(Buffer.concat(chunks).toString('utf8'))
  if (isRecord(value)) return value as Asked
  throw new PlimsollError('bad-input', 'The body is not a JSON object.')
}

/** Downloads in pieces, as an attachment, so that a browser neither shows nor runs it. */
async function download(
  { plimsoll: { artifacts } }: RouteDeps,
  response: ServerResponse,
  url: URL,
  audience: Audience,
): Promise<void> {
  const handle = url.pathname.slice(DOWNLOAD.length)
  const tenant = url.searchParams.get('tenant') ?? ''
  if (!isHandle(handle)) throw new PlimsollError('bad-input', 'The path does not end in an artifact handle.')
  if (!audience.sees(tenant)) throw new PlimsollError('forbidden', 'Your credentials belong to another tenant.')
  const stat = await artifacts.stat(handle, { tenant })
  if (stat === undefined) throw new PlimsollError('not-found', `There is no artifact ${handle}.`)
  response.writeHead(200, {
    ...HEADERS,
    'content-type': 'application/octet-stream',
    'content-length': stat.bytes,
    'content-disposition': `attachment; filename="${handle}.txt"`,
  })
  const step = 1024 * 1024
  for (let start = 0; start < stat.bytes && !response.destroyed; start += step) {
    const bytes = await artifacts.read(handle, { tenant, range: { start, end: Math.min(stat.bytes, start + step) } })
    if (bytes === undefined) break
    if (!response.write(bytes)) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end()
}

async function page(incoming: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  const file = await staticFile(path)
  if (file === undefined) {
    const text = path === '/' ? 'The dashboard has not been built. Run npm run build.' : 'Not found.'
    return send(incoming, response, path === '/' ? 503 : 404, 'text/plain; charset=utf-8', text)
  }
  const isPacked = takesGzip(incoming) && file.packed.length < file.bytes.length
  const caching = file.isForever ? 'public, max-age=31536000, immutable' : 'no-cache'
  const headers = { ...HEADERS, 'content-type': file.type, 'cache-control': caching }
  response.writeHead(200, isPacked ? { ...headers, ...PACKED } : headers).end(isPacked ? file.packed : file.bytes)
}

const PACKED = { 'content-encoding': 'gzip', vary: 'accept-encoding' } as const
/** Shorter answers are not worth packing. */
const LEAST_PACKED = 1024
const pack = promisify<string, Buffer>(gzip)

const takesGzip = ({ headers }: IncomingMessage): boolean => /\bgzip\b/.test(headers['accept-encoding'] ?? '')

async function send(
  incoming: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
): Promise<void> {
  const isPacked = body.length >= LEAST_PACKED && takesGzip(incoming)
  const headers = { ...HEADERS, 'content-type': type, 'cache-control': 'no-store' }
  response.writeHead(status, isPacked ? { ...headers, ...PACKED } : headers).end(isPacked ? await pack(body) : body)
}
