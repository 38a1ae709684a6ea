import { setTimeout as delay } from 'node:timers/promises'
import { PlimsollError } from '../../../core/errors.ts'
import { createHash, createHmac } from 'node:crypto'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface UnsignedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** AWS Signature Version 4 for S3, with the payload's hash signed. Returns the headers to send. */
export function signRequest(
  request: UnsignedRequest,
  credentials: S3Credentials,
  region: string,
  now: Date,
): Record<string, string> {
  const stamp = now.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = `${stamp.slice(0, 8)}/${region}/s3/aws4_request`
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-content-sha256': sha256(request.body),
    'x-amz-date': stamp,
    ...(credentials.sessionToken !== undefined && { 'x-amz-security-token': credentials.sessionToken }),
  }
  const names = Object.keys(headers)
    .map((name) => name.toLowerCase())
    .sort()
  const canonical = [
    request.method,
    request.url.pathname,
    canonicalQuery(request.url),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim()}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'],
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce<Uint8Array>(
    hmac,
    hmac(Buffer.from(`AWS4${credentials.secretAccessKey}`), stamp.slice(0, 8)),
  )
  const signature = Buffer.from(hmac(key, toSign)).toString('hex')
  const { host: _, ...sent } = headers
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

/** Parameters by name, encoded as AWS wants them: a blank is %20, never a plus. */
function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** Percent-encodes everything but the characters that AWS calls unreserved. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const hmac = (key: Uint8Array, text: string): Uint8Array => createHmac('sha256', key).update(text).digest()
const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

export interface S3Options {
  readonly bucket: string
  readonly region?: string
  /** A server other than AWS; its buckets are addressed by path. */
  readonly endpoint?: string
  readonly credentials: S3Credentials
  /** Sends of one request before it fails. @default 5 */
  readonly attempts?: number
  /** Time for one send. @default 60_000 */
  readonly timeoutMs?: number
  readonly fetch?: typeof globalThis.fetch
}

export interface S3Object {
  readonly key: string
  readonly lastModified: number
}

/** The six calls that artifacts need. Keys are plain ASCII. */
export interface S3Client {
  /** False when `ifAbsent` was asked for and the object is there. */
  put(key: string, body: Uint8Array, options?: { ifAbsent?: boolean }): Promise<boolean>
  /** Undefined when there is no such object. */
  get(key: string, span?: { start: number; end: number }): Promise<Uint8Array | undefined>
  exists(key: string): Promise<boolean>
  delete(key: string): Promise<void>
  /** Every object below a prefix, and the server's own time. */
  list(prefix: string): Promise<{ objects: readonly S3Object[]; serverTime: number }>
}

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5000
const RETRIED = new Set([408, 429, 500, 502, 503, 504])
const NOTHING = new Uint8Array()

export function s3Client(options: S3Options): S3Client {
  const { bucket, region = 'us-east-1', endpoint, credentials, attempts = 5, timeoutMs = 60_000 } = options
  const send = options.fetch ?? globalThis.fetch
  const base =
    endpoint === undefined
      ? `https://${bucket}.s3.${region}.amazonaws.com/`
      : `${endpoint.replace(/\/+$/, '')}/${encode(bucket)}/`

  /** Every call may be sent twice without harm, so every call is. */
  async function request(
    method: string,
    key: string,
    more: { body?: Uint8Array; headers?: Record<string, string>; query?: Record<string, string> } = {},
  ): Promise<Response> {
    const { body = NOTHING, headers = {}, query = {} } = more
    const url = new URL(base + key.split('/').map(encode).join('/'))
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // The signature covers blanks as %20; URLSearchParams writes them as plus.
    url.search = url.search.replaceAll('+', '%20')
    for (let attempt = 1; ; attempt++) {
      let failure: unknown
      try {
        const response = await send(url, {
          method,
          headers: signRequest({ method, url, headers, body }, credentials, region, new Date()),
          signal: AbortSignal.timeout(timeoutMs),
          ...(method === 'PUT' && { body: body as Uint8Array<ArrayBuffer> }),
        })
        if (!RETRIED.has(response.status)) return response
        failure = new Error(`${response.status} ${(await response.text()).slice(0, 300)}`)
      } catch (error) {
        failure = error
      }
      if (attempt === attempts) throw unavailable(bucket, failure)
      await delay(Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (0.5 + Math.random()))
    }
  }

  return {
    async put(key, body, { ifAbsent = false } = {}) {
      const response = await request('PUT', key, { body, headers: ifAbsent ? { 'if-none-match': '*' } : {} })
      await response.arrayBuffer()
      if (ifAbsent && (response.status === 412 || response.status === 409)) return false
      if (!response.ok) throw refused(bucket, 'PUT', response.status)
      return true
    },
    async get(key, span) {
      const headers: Record<string, string> = span === undefined ? {} : { range: `bytes=${span.start}-${span.end - 1}` }
      const response = await request('GET', key, { headers })
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (response.status === 404) return undefined
      if (!response.ok) throw refused(bucket, 'GET', response.status)
      if (span === undefined) return bytes
      // A server that ignores ranges answers 200 with everything; some take `bytes=0-0` for a range without an end.
      return response.status === 200 ? bytes.subarray(span.start, span.end) : bytes.subarray(0, span.end - span.start)
    },
    async exists(key) {
      const { status } = await request('HEAD', key)
      if (status !== 404 && status !== 200) throw refused(bucket, 'HEAD', status)
      return status === 200
    },
    async delete(key) {
      const response = await request('DELETE', key)
      await response.arrayBuffer()
      if (!response.ok && response.status !== 404) throw refused(bucket, 'DELETE', response.status)
    },
    async list(prefix) {
      const objects: S3Object[] = []
      let serverTime = 0
      let token: string | undefined
      do {
        const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) }
        const response = await request('GET', '', { query })
        const xml = await response.text()
        if (!response.ok) throw refused(bucket, 'LIST', response.status)
        serverTime = Date.parse(response.headers.get('date') ?? '') || Date.now()
        for (const [, entry = ''] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          objects.push({ key: field(entry, 'Key'), lastModified: Date.parse(field(entry, 'LastModified')) })
        }
        token = field(xml, 'IsTruncated') === 'true' ? field(xml, 'NextContinuationToken') : undefined
      } while (token !== undefined && token !== '')
      return { objects, serverTime }
    },
  }
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function field(xml: string, name: string): string {
  const text = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1] ?? ''
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => ENTITIES[entity] ?? '')
}

const unavailable = (bucket: string, cause: unknown): PlimsollError =>
  new PlimsollError(
    'store-unavailable',
    `The bucket ${bucket} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}.`,
    {
      advice: 'Check the endpoint and the network.',
      fields: { reason: 'unreachable', bucket },
      retryable: true,
      cause,
    },
  )

function refused(bucket: string, method: string, status: number): PlimsollError {
  const what = `The bucket ${bucket} answered ${status} to ${method}.`
  return status === 401 || status === 403
    ? new PlimsollError('bad-config', what, {
        advice: 'Check the credentials and their rights.',
        fields: { status, bucket },
      })
    : new PlimsollError('store-unavailable', what, { fields: { status, bucket, reason: 'refused' } })
}
