import { resolve } from 'node:path'
import { PlimsollError } from '../../core/errors.ts'
import { isHandle, type Handle } from '../../core/handles.ts'
import type { ArtifactStore, RetentionRule } from '../../ports/artifact-store.ts'
import { systemClock, type Clock } from '../../ports/clock.ts'
import { plainByteSeal, type ByteSeal } from '../crypto/byte-seal.ts'
import { plainSeal, type Seal } from '../crypto/seal.ts'
import {
  artifactAddress,
  checkQuota,
  clampRange,
  expiredArtifacts,
  pageOf,
  sha256Of,
  statOf,
  tenantKey,
} from './artifact.ts'
import { checkFolderSeal, type MetaSeal, objectName, tenantFolder, type TenantFolder } from './file-folder.ts'
import { type FileSystem, nodeFileSystem, storeError } from './file-system.ts'
import { mutex } from '../../util/mutex.ts'

export interface FileArtifactsOptions {
  /** Made with private permissions when it is not there. */
  readonly directory: string
  /** Key of the handles and of the folder names. Keep it as long as the folder. */
  readonly secret: Uint8Array
  /** Bytes one tenant may hold; exact within a process, and between processes but for writes in flight. @default no limit */
  readonly quotaBytes?: number
  /** Encryption at rest: of the bytes, and of what is known about them. @default none */
  readonly seals?: { readonly bytes: ByteSeal; readonly text: Seal }
  readonly clock?: Clock
  readonly fileSystem?: FileSystem
}

/**
 * Artifacts as files, shared by any number of processes. An artifact is a folder that is filled aside, synced and then
 * moved into place, so it is there as a whole or not at all.
 */
export function fileArtifacts(options: FileArtifactsOptions): ArtifactStore {
  const { secret, quotaBytes = Infinity, clock = systemClock, fileSystem: fs = nodeFileSystem } = options
  const { seals = { bytes: plainByteSeal, text: plainSeal } } = options
  const directory = resolve(options.directory)
  const keyOf = tenantKey(secret)
  const address = artifactAddress(secret)
  const folders = new Map<string, Promise<TenantFolder>>()
  const oneAtATime = new Map<string, ReturnType<typeof mutex>>()
  let checked: Promise<void> | undefined
  let closed = false

  async function openFolder(tenant: string): Promise<TenantFolder> {
    checked ??= checkFolderSeal(fs, directory, seals.text)
    try {
      await checked
    } catch (error) {
      checked = undefined
      throw error
    }
    return tenantFolder(fs, directory, keyOf(tenant), metaSeal(seals.text, tenant))
  }

  async function folderOf(tenant: string): Promise<TenantFolder> {
    if (closed) throw new PlimsollError('closed', 'The artifact store is closed.')
    let folder = folders.get(tenant)
    if (folder === undefined) {
      folder = openFolder(tenant)
      folders.set(tenant, folder)
      // A folder that could not be opened is tried again by the next call.
      folder.catch(() => folders.delete(tenant))
    }
    return folder
  }

  async function attempt<T>(doing: string, tenant: string, task: (folder: TenantFolder) => Promise<T>): Promise<T> {
    try {
      return await task(await folderOf(tenant))
    } catch (error) {
      throw storeError(doing, error)
    }
  }

  function queueOf(tenant: string): ReturnType<typeof mutex> {
    let queue = oneAtATime.get(tenant)
    if (queue === undefined) oneAtATime.set(tenant, (queue = mutex()))
    return queue
  }

  /** Only a store with a quota has to know the sum before it writes. */
  async function withinQuota<T>(
    tenant: string,
    folder: TenantFolder,
    bytes: number,
    write: () => Promise<T>,
  ): Promise<T> {
    if (quotaBytes === Infinity) return write()
    return queueOf(tenant)(async () => {
      const stats = await folder.stats()
      checkQuota(
        stats.reduce((sum, { stat }) => sum + stat.bytes, 0),
        bytes,
        quotaBytes,
      )
      return write()
    })
  }

  return {
    name: 'file',
    async put(tenant, given, meta = {}) {
      return attempt('store the artifact', tenant, async (folder) => {
        // The caller may go on with its buffer while we write; the address must stay that of the bytes.
        const bytes = given.slice()
        const digest = sha256Of(bytes)
        const handle = address.ofDigest(tenant, digest)
        const name = objectName(handle)
        // Marked before it is looked for: a prune that takes it out in between sees the mark and brings it back.
        if (meta.session !== undefined) await folder.mark(meta.session, [name])
        const now = clock.now()
        const found = await folder.touch(name, now)
        if (found !== undefined) return found
        const stat = statOf(handle, bytes, digest, meta, now)
        const sealed = seals.bytes.seal(tenant, handle, bytes)
        return withinQuota(tenant, folder, bytes.length, async () => folder.write(name, sealed, stat, now))
      })
    },
    async read(tenant, handle, range) {
      return attempt('read the artifact', tenant, async (folder) => {
        if (!isHandle(handle)) return undefined
        const { bytes: seal } = seals
        const wantedOf = (size: number) => clampRange(range, seal.plainBytes(size))
        const part = await folder.read(objectName(handle), (size) => seal.span(wantedOf(size), seal.plainBytes(size)))
        if (part === undefined) return undefined
        const bytes = opened(handle, () =>
          seal.open(tenant, handle, part.bytes, wantedOf(part.size), seal.plainBytes(part.size)),
        )
        if (range === undefined && address(tenant, bytes) !== handle) throw notThoseBytes(handle)
        return bytes
      })
    },
    async stat(tenant, handle) {
      return attempt('look up the artifact', tenant, async (folder) =>
        isHandle(handle) ? folder.stat(objectName(handle)) : undefined,
      )
    },
    async list(tenant, query = {}) {
      return attempt('list the artifacts', tenant, async (folder) => {
        const stats = (await folder.stats()).map(({ stat }) => stat)
        const marks = query.session === undefined ? new Set<string>() : await folder.marksOf(query.session)
        const marked = new Set(stats.filter(({ handle }) => marks.has(objectName(handle))).map(({ handle }) => handle))
        return pageOf(stats, query, () => marked)
      })
    },
    async reference(tenant, session, handles) {
      await attempt('mark artifacts as used', tenant, async (folder) =>
        folder.mark(session, await existing(folder, handles)),
      )
    },
    async release(tenant, session) {
      await attempt('release the session', tenant, async (folder) => folder.release(session))
    },
    async prune(tenant, rule) {
      // Two prunes at once would bring back each other's candidates: safe, but neither would get anywhere.
      return queueOf(tenant)(async () =>
        attempt('prune artifacts', tenant, async (folder) => pruneFolder(folder, rule, clock.now())),
      )
    },
    async remove(tenant, handle) {
      return attempt(
        'remove the artifact',
        tenant,
        async (folder) => isHandle(handle) && folder.remove(objectName(handle)),
      )
    },
    async close() {
      closed = true
      folders.clear()
    },
  }
}

const metaSeal = (seal: Seal, tenant: string): MetaSeal => ({
  seal(json) {
    const stored = seal.seal(tenant, json)
    return typeof stored === 'string' ? Buffer.from(stored) : stored
  },
  open: (stored) => seal.open(tenant, stored),
})

const notThoseBytes = (handle: Handle, cause?: unknown): PlimsollError =>
  new PlimsollError(
    'corrupt',
    `The stored bytes of ${handle} differ from those that were stored: something else wrote to the file.`,
    { fields: { handle }, cause },
  )

function opened(handle: Handle, open: () => Uint8Array): Uint8Array {
  try {
    return open()
  } catch (error) {
    throw notThoseBytes(handle, error)
  }
}

async function pruneFolder(folder: TenantFolder, rule: RetentionRule, now: number): Promise<readonly Handle[]> {
  await folder.tidy()
  const marks = await folder.all()
  const stats = await folder.stats()
  const candidates = stats.map(({ stat, name, usedAt }) => ({
    handle: stat.handle,
    usedAt,
    referenced: marks.has(name),
  }))
  const byHandle = new Map(stats.map((artifact) => [artifact.stat.handle, artifact]))
  return folder.discard(expiredArtifacts(candidates, rule, now).flatMap((handle) => byHandle.get(handle) ?? []))
}

async function existing(folder: TenantFolder, handles: readonly Handle[]): Promise<string[]> {
  const names = handles.filter(isHandle).map(objectName)
  const present = await Promise.all(names.map(async (name) => (await folder.stat(name)) !== undefined))
  return names.filter((_, i) => present[i])
}
