import { messageOf } from '../../../core/values.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { PlimsollError } from '../../../core/errors.ts'
import { createHash } from 'node:crypto'
import type { Span } from '../../crypto/byte-seal.ts'
import { importOptional } from '../../optional-package.ts'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Percent-encodes everything but the characters that AWS calls unreserved. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

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

interface S3Object {
  readonly key: string
  readonly lastModified: number
}

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 5000
const RETRIED = new Set([408, 429, 500, 502, 503, 504])
const NOTHING = new Uint8Array()

const library = () => importOptional<typeof import('aws4fetch')>('aws4fetch', 'Keeping artifacts in S3')

/** The calls that artifacts need, all over one request function. Keys are plain ASCII. */
export function s3Client(options: S3Options) {
  const { bucket, region = 'us-east-1', endpoint, credentials, attempts = 5, timeoutMs = 60_000 } = options
  const send = options.fetch ?? globalThis.fetch
  const base =
    endpoint === undefined
      ? `https://${bucket}.s3.${region}.amazonaws.com/`
      : `${endpoint.replace(/\/+$/, '')}/${encode(bucket)}/`

  /** Every call may be sent twice without harm, so a call that fails is sent again. The payload's hash is part of what is signed. */
  async function request(
    method: string,
    key: string,
    more: { body?: Uint8Array; headers?: Record<string, string>; query?: Record<string, string> } = {},
  ): Promise<Response> {
    const { body = NOTHING, headers = {}, query = {} } = more
    const url = new URL(base + key.split('/').map(encode).join('/'))
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const digest = createHash('sha256').update(body).digest('hex')
    const { AwsV4Signer } = await library()
    for (let attempt = 1; ; attempt++) {
      let failure: unknown
      try {
        const signed = await new AwsV4Signer({
          ...credentials,
          method,
          url: url.href,
          headers: { ...headers, 'x-amz-content-sha256': digest },
          service: 's3',
          region,
        }).sign()
        const response = await send(signed.url, {
          method,
          headers: Object.fromEntries(signed.headers),
          signal: AbortSignal.timeout(timeoutMs),
          body: method === 'PUT' ? (body as Uint8Array<ArrayBuffer>) : undefined,
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
    /** False when `ifAbsent` was asked for and the object is there. */
    async put(key: string, body: Uint8Array, { ifAbsent = false } = {}): Promise<boolean> {
      const response = await request('PUT', key, { body, headers: ifAbsent ? { 'if-none-match': '*' } : {} })
      await response.arrayBuffer()
      if (ifAbsent && (response.status === 412 || response.status === 409)) return false
      if (!response.ok) throw refused(bucket, 'PUT', response.status)
      return true
    },
    /** Undefined when there is no such object. */
    async get(key: string, span?: Span): Promise<Uint8Array | undefined> {
      const headers: Record<string, string> = span === undefined ? {} : { range: `bytes=${span.start}-${span.end - 1}` }
      const response = await request('GET', key, { headers })
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (response.status === 404) return undefined
      if (!response.ok) throw refused(bucket, 'GET', response.status)
      if (span === undefined) return bytes
      // A server that ignores ranges answers 200 with everything; some take `bytes=0-0` for a range without an end.
      return response.status === 200 ? bytes.subarray(span.start, span.end) : bytes.subarray(0, span.end - span.start)
    },
    async exists(key: string): Promise<boolean> {
      const { status } = await request('HEAD', key)
      if (status !== 404 && status !== 200) throw refused(bucket, 'HEAD', status)
      return status === 200
    },
    async delete(key: string): Promise<void> {
      const response = await request('DELETE', key)
      await response.arrayBuffer()
      if (!response.ok && response.status !== 404) throw refused(bucket, 'DELETE', response.status)
    },
    /** Every object below a prefix, and the server's own time. */
    async list(prefix: string): Promise<{ objects: readonly S3Object[]; serverTime: number }> {
      const objects: S3Object[] = []
      let serverTime = 0
      let token: string | undefined
      do {
        const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) }
        const response = await request('GET', '', { query })
        const xml = await response.text()
        if (!response.ok) throw refused(bucket, 'LIST', response.status)
        serverTime = Date.parse(response.headers.get('date') ?? '') || Date.now()
        objects.push(...objectsIn(xml))
        token = field(xml, 'IsTruncated') === 'true' ? field(xml, 'NextContinuationToken') : undefined
      } while (token !== undefined && token !== '')
      return { objects, serverTime }
    },
  }
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const objectsIn = (xml: string): S3Object[] =>
  [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry = '']) => ({
    key: field(entry, 'Key'),
    lastModified: Date.parse(field(entry, 'LastModified')),
  }))

function field(xml: string, name: string): string {
  const text = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1] ?? ''
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => ENTITIES[entity] ?? '')
}

const unavailable = (bucket: string, cause: unknown): PlimsollError =>
  new PlimsollError('store-unavailable', `The bucket ${bucket} cannot be reached: ${messageOf(cause)}.`, {
    advice: 'Check the endpoint and the network.',
    fields: { reason: 'unreachable', bucket },
    retryable: true,
    cause,
  })

function refused(bucket: string, method: string, status: number): PlimsollError {
  const what = `The bucket ${bucket} answered ${status} to ${method}.`
  return status === 401 || status === 403
    ? new PlimsollError('bad-config', what, {
        advice: 'Check the credentials and their rights.',
        fields: { status, bucket },
      })
    : new PlimsollError('store-unavailable', what, { fields: { status, bucket, reason: 'refused' } })
}
