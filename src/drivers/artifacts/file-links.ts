import { join, relative } from 'node:path'
import { artifactName } from './artifact-name.ts'
import { codeOf, isMissing, isTaken, makeFolder, syncFolder, writeNewFile, type FileSystem } from './file-system.ts'

/** The tenant that a folder of links belongs to: whoever has a shell there can read all of it, so it is never shared. */
const OWNER_FILE = '.plimsoll-tenant'

export interface ArtifactLinks {
  readonly folder: string
  /** Links `bytesPath` under a name for people and returns that name; undefined when the folder is another tenant's. */
  add(tool: string | undefined, createdAt: number, hex: string, bytesPath: string): Promise<string | undefined>
  remove(name: string): Promise<void>
  /** Takes away links whose artifact is gone. */
  sweep(objects: string): Promise<void>
}

export function artifactLinks(fs: FileSystem, folder: string, tenantFolder: string): ArtifactLinks {
  let owned: Promise<boolean> | undefined

  async function claim(): Promise<boolean> {
    await makeFolder(fs, folder)
    const owner = join(folder, OWNER_FILE)
    try {
      await writeNewFile(fs, owner, Buffer.from(tenantFolder))
      return true
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      return (await fs.readFile(owner, 'utf8')) === tenantFolder
    }
  }

  async function isOurs(): Promise<boolean> {
    owned ??= claim().catch((error: unknown) => {
      owned = undefined
      throw error
    })
    return owned
  }

  return {
    folder,
    async add(tool, createdAt, hex, bytesPath) {
      if (!(await isOurs())) return undefined
      const target = relative(await fs.realpath(folder), bytesPath)
      // Six digits name it as people expect; twelve are for the rare second artifact of that second with the same six.
      for (const digits of [6, 12]) {
        const name = artifactName(tool, createdAt, hex.slice(0, digits))
        try {
          await fs.symlink(target, join(folder, name))
          await syncFolder(fs, folder)
          return name
        } catch (error) {
          if (!isTaken(error)) throw error
          if ((await fs.readlink(join(folder, name)).catch(() => undefined)) === target) return name
        }
      }
      return undefined
    },
    async remove(name) {
      await fs.rm(join(folder, name), { force: true })
    },
    async sweep(objects) {
      if (!(await isOurs())) return
      for (const name of await fs.readdir(folder)) {
        if (!name.endsWith('.log')) continue
        const path = join(folder, name)
        const target = await fs.readlink(path).catch(() => undefined)
        if (target === undefined || !join(await fs.realpath(folder), target).startsWith(objects)) continue
        await fs.stat(path).catch(async (error: unknown) => {
          if (isMissing(error)) await fs.rm(path, { force: true })
        })
      }
    },
  }
}
