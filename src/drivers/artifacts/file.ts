import { resolve } from 'node:path'
import type { Handle } from '../../core/handles.ts'
import type { ArtifactStore, RetentionRule } from '../../ports/artifact-store.ts'
import { expiredArtifacts } from './artifact.ts'
import { checkFolderSeal, objectName, tenantFolder, type TenantFolder } from './file-folder.ts'
import { type FileSystem, nodeFileSystem, storeError } from './file-system.ts'
import { artifactStore, PLAIN, type ArtifactStoreOptions } from './store.ts'

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
