import { accessSync, constants, lstatSync } from 'node:fs'
import { open, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { PlimsollError } from '../../core/errors.ts'
import type { Handle } from '../../core/handles.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import type { Clock } from '../../ports/clock.ts'
import { makeFolderSync } from '../../util/make-folder.ts'
import { artifactName, digitsOf } from './artifact.ts'

export interface ShellFiles {
  readonly store: ArtifactStore
  /** The path at which the artifact will be written, for a view that is about to name it. Undefined where the folder cannot be written. */
  readonly fileFor: (folder: string, tool: string | undefined, handle: Handle) => string | undefined
}

/**
 * Artifacts that have a `file` are written there as well, for agents that have only a shell: before any view names it, readable for the
 * owner alone, and deleted with the artifact when it is pruned. Of outside words only the plain characters of a tool's name are in the path.
 */
export function shellFiles(store: ArtifactStore, clock: Clock, warn: (message: string) => void): ShellFiles {
  const folders = new Map<string, boolean>()
  const isWritable = (folder: string): boolean => {
    try {
      makeFolderSync(folder, 0o700)
      if (!lstatSync(folder).isDirectory()) throw new PlimsollError('forbidden', `${folder} is no folder, or a link.`)
      accessSync(folder, constants.W_OK)
      return true
    } catch (error) {
      warn(`Large outputs are not written as files: ${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }
  return {
    fileFor(folder, tool, handle) {
      if (!folders.has(folder)) folders.set(folder, isWritable(folder))
      return folders.get(folder) === true ? join(folder, artifactName(tool, clock.now(), digitsOf(handle))) : undefined
    },
    store: {
      ...store,
      async put(tenant, bytes, meta) {
        const stat = await store.put(tenant, bytes, meta)
        if (meta?.file !== undefined) await writePrivate(meta.file, bytes)
        return stat
      },
      async prune(tenant, rule) {
        const gone = await store.prune(tenant, rule)
        const digits = new Set(gone.map(digitsOf))
        for (const folder of digits.size === 0 ? [] : folders.keys())
          for (const name of await readdir(folder).catch(() => []))
            if (digits.has(/_([0-9a-f]+)\.log$/.exec(name)?.[1] ?? '')) await rm(join(folder, name), { force: true })
        return gone
      },
    },
  }
}

/** Never through a link, and never over a file of someone else. */
async function writePrivate(path: string, bytes: Uint8Array): Promise<void> {
  makeFolderSync(dirname(path), 0o700)
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
    } finally {
      await file.close()
    }
  } catch (error) {
    // The same artifact in the same second.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
