import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { s3Artifacts, type S3ArtifactsOptions, s3Client } from '../../src/drivers/artifacts/s3/index.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { aesByteSeal } from '../../src/drivers/crypto/byte-seal.ts'
import type { ArtifactStore } from '../../src/ports/artifact-store.ts'
import { artifactStoreCases } from '../../src/testing/artifact-store-suite.ts'
import { startS3, type S3Server } from './support/s3-server.ts'

const secret = randomBytes(32)
const key = randomBytes(32)
const seals = { bytes: aesByteSeal(key), text: aesSeal(key) }

// What a prune decides does not depend on what the bytes look like, and these cases take hundreds of requests.
const RETENTION = /prunes nothing|keeps the newest|another prunes/

let server: S3Server
beforeAll(async () => {
  server = await startS3()
})
afterAll(() => server.stop())

for (const [name, extra] of Object.entries({ plain: {}, encrypted: { seals } })) {
  describe(`artifacts in s3, ${name}`, () => {
    for (const artifactCase of artifactStoreCases().filter((each) => name === 'plain' || !RETENTION.test(each.name))) {
      it(artifactCase.name, () =>
        artifactCase.run(({ space, ...options }) =>
          s3Artifacts({ ...server, prefix: `${name}/${space}/`, secret, ...extra, ...options }),
        ),
      )
    }
  })
}

describe('artifacts in s3', () => {
  it('is refused with a wrong secret, and says so', async () => {
    const credentials = { ...server.credentials, secretAccessKey: 'wrong' }
    await expect(put('wrong/', { credentials })).rejects.toMatchObject({ code: 'bad-config' })
  })

  it('sends again when the server stumbles, and gives up in the end', async () => {
    let failures = 3
    const stumbling: typeof fetch = async (...request) => {
      if (failures-- > 0) {
        if (failures === 1) throw new TypeError('fetch failed')
        return new Response('slow down', { status: 503 })
      }
      return fetch(...request)
    }
    const { store, handle } = await put('stumble/', { fetch: stumbling })
    expect(Buffer.from((await store.read('t', handle)) ?? []).toString()).toBe('0123456789')
    await expect(put('down/', { fetch: down, attempts: 2 })).rejects.toMatchObject({
      code: 'store-unavailable',
      retryable: true,
    })
  })

  it('asks the server for the range only', async () => {
    const ranges: (string | undefined)[] = []
    const spying: typeof fetch = async (url, init) => {
      const range = (init?.headers as Record<string, string> | undefined)?.['range']
      if (range !== undefined) ranges.push(range)
      return fetch(url, init)
    }
    const { store, handle } = await put('range/', { fetch: spying })
    expect(Buffer.from((await store.read('t', handle, { start: 2, end: 5 })) ?? []).toString()).toBe('234')
    expect(ranges).toEqual(['bytes=2-4'])
  })

  it('says that bytes are damaged instead of giving them out', async () => {
    const { store, handle } = await put('damage/')
    const client = s3Client(server)
    const { objects } = await client.list('damage/')
    const body = objects.find((object) => object.key.includes('/o/'))?.key ?? ''
    await client.put(body, Buffer.from('9876543210'))
    await expect(store.read('t', handle)).rejects.toMatchObject({ code: 'corrupt' })
    await client.put(body, Buffer.from('01234'))
    await expect(store.read('t', handle, { start: 2, end: 9 })).rejects.toMatchObject({ code: 'corrupt' })
  })

  it('writes no name from outside into a key', async () => {
    const store = s3Artifacts({ ...server, prefix: 'names/', secret })
    await store.put('../tenant', Buffer.from('x'), { session: '../../session', tool: '/tool' })
    const { objects } = await s3Client(server).list('names/')
    for (const { key: name } of objects) expect(name).toMatch(/^names\/[0-9a-f]{40}\/[omus]\/[a-z0-9_/-]+$/)
  })

  it('gives way to a put that comes while it prunes, whichever is first', async () => {
    for (let round = 0; round < 15; round++) {
      const prefix = `race${round}/`
      const [one, two] = [s3Artifacts({ ...server, prefix, secret }), s3Artifacts({ ...server, prefix, secret })]
      const { handle } = await one.put('t', Buffer.from('contended'))
      const [stat] = await Promise.all([
        one.put('t', Buffer.from('contended'), { session: 's' }),
        two.prune('t', { keep: 0 }),
        one.prune('t', { keep: 0 }),
      ])
      expect(stat.handle).toBe(handle)
      expect(Buffer.from((await two.read('t', handle)) ?? []).toString()).toBe('contended')
    }
  })

  it('sweeps what a put left behind that never came to its end', async () => {
    let now = 1_000_000
    const store = s3Artifacts({ ...server, prefix: 'lost/', secret, clock: { now: () => now } })
    await store.put('t', Buffer.from('half'))
    const client = s3Client(server)
    const { objects } = await client.list('lost/')
    await client.delete(objects.find((object) => object.key.includes('/m/'))?.key ?? '')
    await store.prune('t', { keep: 0 })
    expect((await client.list('lost/')).objects.some((object) => object.key.includes('/o/'))).toBe(true)
    now += 25 * 3_600_000
    expect(await store.prune('t', { keep: 0 })).toEqual([])
    expect((await client.list('lost/')).objects).toEqual([])
  })

  it('does not wait for a deletion whose process died', async () => {
    const { store, handle } = await put('dead/')
    const client = s3Client(server)
    const { objects } = await client.list('dead/')
    const doom = (objects.find((object) => object.key.includes('/o/'))?.key ?? '').replace('/o/', '/d/')
    await client.put(`${doom}/ghost`, new Uint8Array())
    const patient = s3Artifacts({ ...server, prefix: 'dead/', secret, fetch: later })
    expect((await patient.put('t', Buffer.from('0123456789'))).handle).toBe(handle)
    await store.close()
  })
})

async function put(
  prefix: string,
  options: Partial<S3ArtifactsOptions> = {},
): Promise<{ store: ArtifactStore; handle: string }> {
  const store = s3Artifacts({ ...server, prefix, secret, ...options })
  const { handle } = await store.put('t', Buffer.from('0123456789'), { session: 's' })
  return { store, handle }
}

/** A server that is not there. */
async function down(): Promise<Response> {
  throw new TypeError('fetch failed')
}

/** The same server, two minutes later. */
async function later(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  return new Response(response.status === 204 ? null : response.body, {
    status: response.status,
    headers: { ...Object.fromEntries(response.headers), date: new Date(Date.now() + 120_000).toUTCString() },
  })
}
