import { resolve, basename, dirname, join } from 'node:path'
import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { Handle } from '../../core/handles.ts'
import type { ArtifactStore, RetentionRule, ArtifactStat } from '../../ports/artifact-store.ts'
import { expiredArtifacts, readStat, unlessDamaged } from './artifact.ts'
import {
  type FileSystem,
  nodeFileSystem,
  storeError,
  codeOf,
  isMissing,
  isTaken,
  makeFolder,
  READ_NO_FOLLOW,
  syncFolder,
  unlessMissing,
  writeNewFile,
} from './file-system.ts'
import { artifactStore, PLAIN, type ArtifactStoreOptions } from './store.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Span } from '../crypto/byte-seal.ts'
import { sealMismatch } from '../crypto/seal.ts'

/** The version of the folder layout; an old tree stays readable beside a new one. */
const LAYOUT = 'v1'

/**
 * The folders of a tenant's artifacts. Every part of a path is a hash of ours: no text from outside ever becomes part of one.
 *
 * - `objects/<name>/{bytes,meta.json}` — one folder per artifact, moved into place as a whole
 * - `references/<session>/<name>` — empty files: this session uses that artifact
 * - `writing/` — folders being filled; `leaving/` — taken out, may come back; `doomed/` — being deleted
 */
type TenantLayout = ReturnType<typeof tenantLayout>

function tenantLayout(directory: string, tenantKey: Uint8Array) {
  const root = join(directory, LAYOUT, keyed(tenantKey, 'folder', ''))
  const objects = join(root, 'objects')
  const references = join(root, 'references')
  return {
    root,
    objects,
    references,
    writing: join(root, 'writing'),
    leaving: join(root, 'leaving'),
    doomed: join(root, 'doomed'),
    object: (name: string): string => join(objects, name),
    marksOf: (session: string): string => join(references, keyed(tenantKey, 'session', session)),
  }
}

/** The folder name of an artifact. A hash of the handle, so that even a wrong grammar could not become a path. */
const objectName = (handle: Handle): string => createHash('sha256').update(handle).digest('hex').slice(0, 40)

// UTF-16 keeps names apart that UTF-8 would merge (lone surrogates).
const keyed = (key: Uint8Array, purpose: string, text: string): string =>
  createHmac('sha256', key).update(`${purpose}:`).update(text, 'utf16le').digest('hex').slice(0, 40)

const MAX_TRIES = 5

/** Which sessions use which artifacts: one empty file per mark, durable when `mark` resolves. */
function referenceMarks(fs: FileSystem, layout: TenantLayout) {
  async function markOnce(folder: string, names: readonly string[]): Promise<void> {
    const created = await fs.mkdir(folder, { recursive: true, mode: 0o700 })
    for (const name of names) {
      await writeNewFile(fs, join(folder, name), new Uint8Array()).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error
      })
    }
    await syncFolder(fs, folder)
    if (created !== undefined) await syncFolder(fs, layout.references)
  }

  const namesIn = async (folder: string): Promise<string[]> => (await unlessMissing(fs.readdir(folder))) ?? []

  const sessions = async (): Promise<string[]> =>
    (await namesIn(layout.references)).map((name) => join(layout.references, name))

  return {
    async mark(session: string, names: readonly string[]): Promise<void> {
      if (names.length === 0) return
      for (let tries = 1; ; tries++) {
        try {
          return await markOnce(layout.marksOf(session), names)
        } catch (error) {
          // A release of the same session moved the folder away at the same time: this mark came after it.
          if (!isMissing(error) || tries === MAX_TRIES) throw error
        }
      }
    },
    async marksOf(session: string): Promise<ReadonlySet<string>> {
      return new Set(await namesIn(layout.marksOf(session)))
    },
    async all(): Promise<ReadonlySet<string>> {
      const marks = await Promise.all((await sessions()).map(namesIn))
      return new Set(marks.flat())
    },
    async release(session: string): Promise<void> {
      // Moved away whole, so that a crash leaves all marks or none.
      const doomed = join(layout.doomed, randomUUID())
      await unlessMissing(fs.rename(layout.marksOf(session), doomed))
      await syncFolder(fs, layout.references)
      await fs.rm(doomed, { recursive: true, force: true })
    },
    /** Removes all sessions' marks of one artifact. */
    async forget(name: string): Promise<void> {
      for (const folder of await sessions()) await fs.rm(join(folder, name), { force: true })
    },
  }
}

/** Folders that are being filled for longer belong to a process that died. */
const STALE_WRITE_MS = 60 * 60 * 1000
/** The most files that are open at a time while all descriptions are read. */
const PARALLEL_READS = 32
const BYTES = 'bytes'
const META = 'meta.json'

export interface StoredArtifact {
  readonly name: string
  readonly stat: ArtifactStat
  readonly usedAt: number
}

/** The content of `meta.json`. */
interface StoredMeta extends ArtifactStat {
  readonly v: 1
  /** Up to 0.2.0: the name of a link to the bytes in a folder for shells. */
  readonly link?: unknown
}

/** How descriptions are written. Bytes are already sealed, because their seal needs the handle. */
export interface MetaSeal {
  seal(json: string): Uint8Array
  open(stored: Uint8Array): string
}

/** The artifacts of one tenant on disk. Names are those of `objectName`. */
export type TenantFolder = ReturnType<typeof folderAt>

async function tenantFolder(
  fs: FileSystem,
  directory: string,
  tenantKey: Uint8Array,
  meta: MetaSeal,
): Promise<TenantFolder> {
  makeFolder(directory)
  const layout = tenantLayout(await fs.realpath(directory), tenantKey)
  await openLayout(fs, layout)
  const folder = folderAt(fs, layout, referenceMarks(fs, layout), meta)
  await folder.tidy()
  return folder
}

async function openLayout(fs: FileSystem, layout: TenantLayout): Promise<void> {
  const { root, objects, references, writing, leaving, doomed } = layout
  for (const path of [root, objects, references, writing, leaving, doomed]) makeFolder(path)
  for (const path of [dirname(root), root]) {
    if ((await fs.lstat(path)).isDirectory()) continue
    throw new PlimsollError('forbidden', `${path} is a symbolic link. The artifact store does not follow links.`)
  }
  for (const path of [root, dirname(root), dirname(dirname(root))]) await syncFolder(fs, path)
}

/** One function, because its calls share the folders between which an artifact moves. */
function folderAt(fs: FileSystem, layout: TenantLayout, marks: ReturnType<typeof referenceMarks>, metaSeal: MetaSeal) {
  const { objects, writing, leaving, doomed } = layout

  /** An artifact that is being pruned is in `leaving` for a moment, and may be moved back. */
  async function located<T>(name: string, use: (path: string) => Promise<T>): Promise<T | undefined> {
    for (const place of [objects, leaving, objects]) {
      const found = await unlessMissing(use(join(place, name)))
      if (found !== undefined) return found
    }
    return undefined
  }

  async function load(path: string): Promise<StoredArtifact> {
    const [stored, bytes] = await Promise.all([fs.readFile(join(path, META)), fs.stat(join(path, BYTES))])
    const { v: _, link: __, ...stat } = readStat(() => metaSeal.open(stored)) as StoredMeta
    return { name: basename(path), stat, usedAt: Math.round(bytes.mtimeMs) }
  }

  const find = async (name: string): Promise<StoredArtifact | undefined> => located(name, load)

  /** Records that these bytes were put again; undefined if they are not completely there. */
  async function touch(name: string, now: number): Promise<ArtifactStat | undefined> {
    try {
      await fs.utimes(join(objects, name, BYTES), now / 1000, now / 1000)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
    const found = await unlessDamaged(find(name))
    // Their description is damaged, so they are written again.
    if (found === undefined) await doom(join(objects, name))
    return found?.stat
  }

  /** False when another writer of the same bytes was first. */
  async function moveIntoPlace(from: string, name: string): Promise<boolean> {
    try {
      await fs.rename(from, join(objects, name))
    } catch (error) {
      if (isTaken(error) && (await exists(fs, join(objects, name)))) return false
      throw error
    }
    await syncFolder(fs, objects)
    return true
  }

  /** The process whose move succeeds may delete; artifacts in `doomed` are never moved back. */
  async function doom(path: string): Promise<boolean> {
    const grave = join(doomed, randomUUID())
    try {
      await fs.rename(path, grave)
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
    await syncFolder(fs, dirname(path))
    await fs.rm(grave, { recursive: true, force: true })
    return true
  }

  async function restore(name: string): Promise<void> {
    try {
      if (!(await moveIntoPlace(join(leaving, name), name))) await doom(join(leaving, name))
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  async function writeOnce(
    name: string,
    bytes: Uint8Array,
    stat: ArtifactStat,
    now: number,
  ): Promise<ArtifactStat | undefined> {
    const draft = join(writing, randomUUID())
    try {
      await fs.mkdir(draft, { mode: 0o700 })
      await writeNewFile(fs, join(draft, BYTES), bytes)
      await fs.utimes(join(draft, BYTES), now / 1000, now / 1000)
      const meta: StoredMeta = { v: 1, ...stat }
      await writeNewFile(fs, join(draft, META), metaSeal.seal(JSON.stringify(meta)))
      await syncFolder(fs, draft)
      return (await moveIntoPlace(draft, name)) ? stat : await touch(name, now)
    } finally {
      await fs.rm(draft, { recursive: true, force: true })
    }
  }

  return {
    ...marks,
    touch,
    async write(name: string, bytes: Uint8Array, stat: ArtifactStat, now: number): Promise<ArtifactStat> {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        // Undefined: another process wrote the same bytes first, and a prune removed them.
        const written = await writeOnce(name, bytes, stat, now)
        if (written !== undefined) return written
      }
      throw new PlimsollError('store-unavailable', 'The artifact was pruned as often as it was written.', {
        retryable: true,
      })
    },
    async read(name: string, span?: Span): Promise<Uint8Array | undefined> {
      return located(name, async (path) => readPart(fs, join(path, BYTES), span))
    },
    async stat(name: string): Promise<ArtifactStat | undefined> {
      return (await find(name))?.stat
    },
    has: async (name: string): Promise<boolean> => (await located(name, (path) => fs.lstat(path))) !== undefined,
    async stats(): Promise<StoredArtifact[]> {
      const names = await fs.readdir(objects)
      const found: (StoredArtifact | undefined)[] = []
      for (let i = 0; i < names.length; i += PARALLEL_READS) {
        found.push(...(await Promise.all(names.slice(i, i + PARALLEL_READS).map((name) => unlessDamaged(find(name))))))
      }
      return found.filter((artifact) => artifact !== undefined)
    },
    /** Deletes those that were neither marked nor put again meanwhile, and returns them. */
    async discard(artifacts: readonly StoredArtifact[]): Promise<readonly Handle[]> {
      const taken: StoredArtifact[] = []
      for (const artifact of artifacts) {
        try {
          await fs.rename(join(objects, artifact.name), join(leaving, artifact.name))
          taken.push(artifact)
        } catch (error) {
          if (!isMissing(error) && !isTaken(error)) throw error
        }
      }
      const marked = await marks.all()
      const gone: Handle[] = []
      for (const { name, stat, usedAt } of taken) {
        const now = await load(join(leaving, name)).catch(() => undefined)
        if (now === undefined || marked.has(name) || now.usedAt !== usedAt) await restore(name)
        else if (await doom(join(leaving, name))) gone.push(stat.handle)
      }
      return gone
    },
    async remove(name: string): Promise<boolean> {
      await marks.forget(name)
      return (await doom(join(objects, name))) || doom(join(leaving, name))
    },
    /** Completes or reverts the unfinished work of a process that died. */
    async tidy(): Promise<void> {
      for (const name of await fs.readdir(leaving)) await restore(name)
      for (const name of await fs.readdir(doomed)) await fs.rm(join(doomed, name), { recursive: true, force: true })
      for (const name of await fs.readdir(writing)) {
        const path = join(writing, name)
        const { mtimeMs } = await fs.stat(path).catch(() => ({ mtimeMs: Infinity }))
        // The file system's time, not the store's clock, because it dates the folder.
        if (Date.now() - mtimeMs > STALE_WRITE_MS) await fs.rm(path, { recursive: true, force: true })
      }
    },
  }
}

const exists = async (fs: FileSystem, path: string): Promise<boolean> =>
  (await unlessMissing(fs.lstat(path))) !== undefined

async function readPart(fs: FileSystem, path: string, span?: Span): Promise<Uint8Array> {
  const file = await fs.open(path, READ_NO_FOLLOW)
  try {
    const { start, end } = span ?? { start: 0, end: (await file.stat()).size }
    const bytes = new Uint8Array(end - start)
    for (let read = 0; read < bytes.length;) {
      const { bytesRead } = await file.read(bytes, read, bytes.length - read, start + read)
      if (bytesRead === 0)
        throw new PlimsollError('corrupt', `The file of an artifact ended ${bytes.length - read} bytes early.`)
      read += bytesRead
    }
    return bytes
  } finally {
    await file.close()
  }
}

const SEAL_FILE = 'seal'

/**
 * A folder is sealed with one key for its whole life: another key, or none, must not add what cannot be read. The file holds a
 * fingerprint that says nothing about the key; a folder of tenants without it was made before there were keys.
 */
async function checkFolderSeal(
  fs: FileSystem,
  directory: string,
  seal: { readonly name: string; readonly fingerprint: string },
): Promise<void> {
  const root = join(directory, LAYOUT)
  const path = join(root, SEAL_FILE)
  makeFolder(root)
  const read = (): Promise<string | undefined> => unlessMissing(fs.readFile(path, 'utf8'))
  let found = await read()
  if (found === undefined) {
    const isOld = (await fs.readdir(root)).some((name) => !name.startsWith(SEAL_FILE))
    await place(fs, root, isOld ? 'plain' : seal.fingerprint)
    found = await read()
  }
  if (found !== seal.fingerprint) throw sealMismatch(directory, found ?? 'plain', seal)
}

/** Written aside and moved, so that no half of it is read. */
async function place(fs: FileSystem, root: string, fingerprint: string): Promise<void> {
  const draft = join(root, `${SEAL_FILE}-${randomUUID()}`)
  try {
    await writeNewFile(fs, draft, Buffer.from(fingerprint))
    await fs.rename(draft, join(root, SEAL_FILE))
    await syncFolder(fs, root)
  } finally {
    await fs.rm(draft, { force: true })
  }
}

export interface FileArtifactsOptions extends ArtifactStoreOptions {
  /** Made with private permissions when it is not there. */
  readonly directory: string
  readonly fileSystem?: FileSystem
}

/**
 * Artifacts as files, shared by any number of processes. An artifact is a folder that is filled aside, synced and then
 * moved into place, so it is there as a whole or not at all.
 */
export function fileArtifacts(options: FileArtifactsOptions): ArtifactStore {
  const { seals = PLAIN, fileSystem: fs = nodeFileSystem } = options
  const directory = resolve(options.directory)
  return artifactStore(
    {
      name: 'file',
      explain: storeError,
      async open(tenant, key) {
        await checkFolderSeal(fs, directory, seals.text)
        const folder = await tenantFolder(fs, directory, key, {
          seal: (json) => Buffer.from(seals.text.seal(tenant, json)),
          open: (stored) => seals.text.open(tenant, stored),
        })
        return {
          async put({ handle, stat, sealed, session, now }) {
            const name = objectName(handle)
            if (session !== undefined) await folder.mark(session, [name])
            return (await folder.touch(name, now)) ?? folder.write(name, sealed(), stat, now)
          },
          stat: (handle) => folder.stat(objectName(handle)),
          bytes: (handle, span) => folder.read(objectName(handle), span),
          stats: async () => (await folder.stats()).map(({ stat }) => stat),
          async marksOf(session) {
            const names = await folder.marksOf(session)
            return (handle) => names.has(objectName(handle))
          },
          mark: async (session, handles) => folder.mark(session, await existing(folder, handles)),
          release: folder.release,
          prune: (rule, now) => pruneFolder(folder, rule, now),
          remove: (handle) => folder.remove(objectName(handle)),
        }
      },
    },
    options,
  )
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
  const names = handles.map(objectName)
  const present = await Promise.all(names.map(folder.has))
  return names.filter((_, i) => present[i])
}
