import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Handle } from '../../../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../../../ports/artifact-store.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import { expiredArtifacts, hexOf, hiddenName, readStat, sha256Of, unlessDamaged } from '../artifact.ts'
import { artifactStore, PLAIN, type ArtifactStoreOptions, type NewArtifact, type TenantArtifacts } from '../store.ts'
import { s3Client, type S3Options } from './client.ts'

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
