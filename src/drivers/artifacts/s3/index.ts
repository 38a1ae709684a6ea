import { randomBytes, createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Handle } from '../../../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../../../ports/artifact-store.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import { expiredArtifacts, hexOf, hiddenName, readStat, sha256Of, unlessDamaged } from '../artifact.ts'
import { artifactStore, PLAIN, type ArtifactStoreOptions, type NewArtifact, type TenantArtifacts } from '../store.ts'
import { messageOf } from '../../../core/values.ts'
import { PlimsollError } from '../../../core/errors.ts'
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

/*
 * Where things lie in the bucket, below `<prefix><tenant>/`:
 *
 *   o/<handle>               the bytes
 *   m/<handle>               what is known about them; written last, so an artifact without it was never acknowledged
 *   u/<handle>/<when>-<who>  one empty object per put: how young the artifact is
 *   s/<session>/<handle>     a session's reference
 *   d/<handle>/<who>         a process is about to delete
 *
 * Tenants and sessions are keyed hashes, so no name from outside is part of a key.
 */
type TenantLayout = ReturnType<typeof tenantLayout>

function tenantLayout(prefix: string, key: Uint8Array) {
  const root = `${prefix}${hexOf(sha256Of(key)).slice(0, 40)}`
  const marksOf = (session: string): string => `${root}/s/${hiddenName(key, 'session', session)}/`
  return {
    bytes: (handle: string) => `${root}/o/${handle}`,
    about: (handle: string) => `${root}/m/${handle}`,
    allAbout: `${root}/m/`,
    touches: (handle: string) => `${root}/u/${handle}/`,
    allTouches: `${root}/u/`,
    touch: (handle: string, at: number, who: string) => `${root}/u/${handle}/${at}-${who}`,
    mark: (session: string, handle: string) => marksOf(session) + handle,
    marksOf,
    allMarks: `${root}/s/`,
    doom: (handle: string, who: string) => `${root}/d/${handle}/${who}`,
    doomsOf: (handle: string) => `${root}/d/${handle}/`,
  }
}

const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

/** Handle and time of a touch. */
function touchOf(key: string): { readonly handle: string; readonly at: number } {
  const parts = key.split('/')
  return { handle: parts.at(-2) ?? '', at: Number((parts.at(-1) ?? '').split('-')[0]) }
}

const WIDTH = 16

/** Runs `job` for every entry, a bounded number at a time, and keeps the order. */
async function inParallel<T, R>(entries: readonly T[], job: (entry: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < entries.length) {
      const i = next++
      results[i] = await job(entries[i] as T)
    }
  }
  await Promise.all(Array.from({ length: Math.min(WIDTH, entries.length) }, lane))
  return results
}

/** Runs jobs of one key one after the other, and jobs of different keys side by side. */
function keyedQueue() {
  const last = new Map<string, Promise<unknown>>()
  return async <T>(key: string, job: () => Promise<T>): Promise<T> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(job, job)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}

export interface S3ArtifactsOptions extends S3Options, ArtifactStoreOptions {
  /** Put before every key, e.g. `plimsoll/`. @default none */
  readonly prefix?: string
}

/** A deletion that takes longer than this was left behind by a process that died. */
const DOOM_MS = 60_000
/** Bytes without a description for longer than this belong to an unfinished put. */
const LOST_MS = 24 * 60 * 60_000
const DOOMS_AT_ONCE = 100
const DOOM_POLL_MS = 20
const KNOWN_STATS = 20_000
const EMPTY = new Uint8Array()

/**
 * Artifacts in a bucket. There are no locks there, so a writer and a pruner announce themselves before they look for each
 * other: a writer leaves its touch and its reference and then looks for dooms; a pruner leaves its doom and then looks for
 * touches and references. A bucket shows every write to the next read, so at least one of them sees the other and gives way.
 */
export function s3Artifacts(options: S3ArtifactsOptions): ArtifactStore {
  const { seals = PLAIN, prefix = '' } = options
  const client = s3Client(options)
  // A description never changes, so it is cached; whether the artifact still exists is checked where it matters.
  const known = new BoundedMap<string, ArtifactStat>(KNOWN_STATS)
  const open = async (tenant: string, key: Uint8Array): Promise<TenantArtifacts> =>
    tenantArtifacts(client, known, tenantLayout(prefix, key), {
      seal: (json) => Buffer.from(seals.text.seal(tenant, json)),
      open: (stored) => seals.text.open(tenant, stored),
    })
  return artifactStore({ name: 's3', open }, options)
}

interface TextSeal {
  seal(json: string): Uint8Array
  open(stored: Uint8Array): string
}

/** One function, because the calls share their announcements. */
function tenantArtifacts(
  client: ReturnType<typeof s3Client>,
  known: BoundedMap<string, ArtifactStat>,
  layout: TenantLayout,
  seal: TextSeal,
): TenantArtifacts {
  const who = randomBytes(8).toString('hex')
  const oneAtATime = keyedQueue()
  let serial = 0

  async function fetchStat(handle: Handle): Promise<ArtifactStat | undefined> {
    const stored = await client.get(layout.about(handle))
    if (stored === undefined) return undefined
    const stat = readStat(() => seal.open(stored))
    known.set(layout.about(handle), stat)
    return stat
  }

  /** Resolves when no process is deleting this artifact any more; afterwards its bytes are there or they are not. */
  async function undoomed(handle: Handle): Promise<void> {
    for (;;) {
      const { objects, serverTime } = await client.list(layout.doomsOf(handle))
      const dead = objects.filter(({ lastModified }) => serverTime - lastModified > DOOM_MS)
      await inParallel(dead, ({ key }) => client.delete(key))
      if (objects.length === dead.length) return
      await delay(DOOM_POLL_MS)
    }
  }

  async function write({ handle, stat, sealed }: NewArtifact): Promise<ArtifactStat> {
    const [found, there] = await Promise.all([fetchStat(handle), client.exists(layout.bytes(handle))])
    if (found !== undefined && there) return found
    await client.put(layout.bytes(handle), sealed())
    if (found !== undefined) return found
    const first = await client.put(layout.about(handle), seal.seal(JSON.stringify(stat)), { ifAbsent: true })
    return (first ? undefined : await fetchStat(handle)) ?? stat
  }

  return {
    async put(artifact) {
      const { handle, session, now } = artifact
      await Promise.all([
        client.put(layout.touch(handle, now, `${who}${serial++}`), EMPTY),
        session === undefined ? undefined : client.put(layout.mark(session, handle), EMPTY),
      ])
      await undoomed(handle)
      // Writers of the same bytes go one by one and agree on one description.
      return oneAtATime(handle, () => write(artifact))
    },

    stat: fetchStat,
    bytes: (handle, span) => client.get(layout.bytes(handle), span),

    async stats() {
      const { objects } = await client.list(layout.allAbout)
      const stats = await inParallel(
        objects,
        async ({ key }) => known.get(key) ?? (await unlessDamaged(fetchStat(lastPart(key)))),
      )
      return stats.filter((stat) => stat !== undefined)
    },

    async marksOf(session) {
      const { objects } = await client.list(layout.marksOf(session))
      const marked = new Set(objects.map(({ key }) => lastPart(key)))
      return (handle) => marked.has(handle)
    },

    async mark(session, handles) {
      await inParallel(handles, async (handle) => {
        if ((await fetchStat(handle)) === undefined) return
        await client.put(layout.mark(session, handle), EMPTY)
        await undoomed(handle)
        if (!(await client.exists(layout.bytes(handle)))) await client.delete(layout.mark(session, handle))
      })
    },

    async release(session) {
      const { objects } = await client.list(layout.marksOf(session))
      await inParallel(objects, ({ key }) => client.delete(key))
    },

    async prune(rule, now) {
      const [before, about] = [await lookAround(), await client.list(layout.allAbout)]
      const youngest = new Map<string, number>()
      for (const { handle, at } of before.touches.map(touchOf))
        youngest.set(handle, Math.max(at, youngest.get(handle) ?? 0))
      const candidates = about.objects.map(({ key }) => ({
        handle: lastPart(key),
        usedAt: youngest.get(lastPart(key)) ?? 0,
        referenced: before.marked.has(lastPart(key)),
      }))
      const expired = expiredArtifacts(candidates, rule, now)
      const described = new Set(candidates.map(({ handle }) => handle))
      const lost = [...youngest].filter(([handle, at]) => !described.has(handle) && now - at > LOST_MS)
      const doomed = [...expired, ...lost.map(([handle]) => handle)]
      const gone = new Set<string>()
      // In slices: a doom is valid for a minute, and a slice must be finished well before that.
      for (let i = 0; i < doomed.length; i += DOOMS_AT_ONCE) {
        for (const handle of await eraseUnwanted(doomed.slice(i, i + DOOMS_AT_ONCE), before.touches)) gone.add(handle)
      }
      return expired.filter((handle) => gone.has(handle))
    },

    async remove(handle) {
      if ((await fetchStat(handle)) === undefined) return false
      await erase(handle)
      const [touches, marks] = await Promise.all([client.list(layout.touches(handle)), client.list(layout.allMarks)])
      const mine = marks.objects.filter(({ key }) => lastPart(key) === handle)
      await inParallel([...touches.objects, ...mine], ({ key }) => client.delete(key))
      return true
    },
  }

  async function lookAround() {
    const [touches, marks] = await Promise.all([client.list(layout.allTouches), client.list(layout.allMarks)])
    return {
      touches: touches.objects.map(({ key }) => key),
      marked: new Set(marks.objects.map(({ key }) => lastPart(key))),
    }
  }

  /** The pruner's side of the agreement: announce, look again, and delete only what was not asked for meanwhile. */
  async function eraseUnwanted(doomed: readonly Handle[], seenTouches: readonly string[]): Promise<Handle[]> {
    const deadline = performance.now() + DOOM_MS / 2
    const dooms = doomed.map((handle) => layout.doom(handle, `${who}${serial++}`))
    try {
      await inParallel(dooms, (key) => client.put(key, EMPTY))
      const after = await lookAround()
      const seen = new Set(seenTouches)
      const wanted = new Set(after.touches.filter((key) => !seen.has(key)).map((key) => touchOf(key).handle))
      const gone: Handle[] = []
      await inParallel(doomed, async (handle) => {
        // Writers may no longer wait, so the next prune deletes the rest.
        if (after.marked.has(handle) || wanted.has(handle) || performance.now() > deadline) return
        await erase(handle)
        gone.push(handle)
      })
      const going = new Set<string>(gone)
      await inParallel(
        seenTouches.filter((key) => going.has(touchOf(key).handle)),
        (key) => client.delete(key),
      )
      return gone
    } finally {
      await inParallel(dooms, (key) => client.delete(key))
    }
  }

  /** Bytes are deleted first: if this stops half-way, nothing of them can be read, and a later put repairs it. */
  async function erase(handle: Handle): Promise<void> {
    await client.delete(layout.bytes(handle))
    await client.delete(layout.about(handle))
  }
}
