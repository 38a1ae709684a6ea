import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { sealMismatch } from '../crypto/seal-mismatch.ts'
import { LAYOUT } from './file-layout.ts'
import { isMissing, makeFolder, syncFolder, writeNewFile, type FileSystem } from './file-system.ts'

const SEAL_FILE = 'seal'

/**
 * A folder is sealed with one key for its whole life: another key, or none, must not add what nobody can read. The file holds a
 * fingerprint that says nothing about the key; a folder of tenants without it was made before there were keys.
 */
export async function checkFolderSeal(
  fs: FileSystem,
  directory: string,
  seal: { readonly name: string; readonly fingerprint: string },
): Promise<void> {
  const root = join(directory, LAYOUT)
  const path = join(root, SEAL_FILE)
  await makeFolder(fs, root)
  const read = (): Promise<string | undefined> =>
    fs.readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    })
  let found = await read()
  if (found === undefined) {
    const isOld = (await fs.readdir(root)).some((name) => !name.startsWith(SEAL_FILE))
    await place(fs, root, isOld ? 'plain' : seal.fingerprint)
    found = await read()
  }
  if (found !== seal.fingerprint) throw sealMismatch(directory, found ?? 'plain', seal)
}

/** Written aside and moved, so that nobody reads half of it. */
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
