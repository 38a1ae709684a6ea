import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { TenantLayout } from './file-layout.ts'
import { codeOf, isMissing, syncFolder, writeNewFile, type FileSystem } from './file-system.ts'

const MAX_TRIES = 5

/** Which sessions use which artifacts: one empty file per mark, durable when `mark` resolves. */
export interface ReferenceMarks {
  mark(session: string, names: readonly string[]): Promise<void>
  marksOf(session: string): Promise<ReadonlySet<string>>
  all(): Promise<ReadonlySet<string>>
  release(session: string): Promise<void>
  /** Takes the marks of all sessions off one artifact. */
  forget(name: string): Promise<void>
}

export function referenceMarks(fs: FileSystem, layout: TenantLayout): ReferenceMarks {
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

  const namesIn = async (folder: string): Promise<string[]> =>
    fs.readdir(folder).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })

  const sessions = async (): Promise<string[]> =>
    (await namesIn(layout.references)).map((name) => join(layout.references, name))

  return {
    async mark(session, names) {
      if (names.length === 0) return
      for (let tries = 1; ; tries++) {
        try {
          return await markOnce(layout.marksOf(session), names)
        } catch (error) {
          // A release of the same session took the folder away under our hands: this mark came after it.
          if (!isMissing(error) || tries === MAX_TRIES) throw error
        }
      }
    },
    async marksOf(session) {
      return new Set(await namesIn(layout.marksOf(session)))
    },
    async all() {
      const marks = await Promise.all((await sessions()).map(namesIn))
      return new Set(marks.flat())
    },
    async release(session) {
      // Moved away whole, so that a crash leaves all marks or none.
      const doomed = join(layout.doomed, randomUUID())
      try {
        await fs.rename(layout.marksOf(session), doomed)
      } catch (error) {
        if (isMissing(error)) return
        throw error
      }
      await syncFolder(fs, layout.references)
      await fs.rm(doomed, { recursive: true, force: true })
    },
    async forget(name) {
      for (const folder of await sessions()) await fs.rm(join(folder, name), { force: true })
    },
  }
}
