import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function temporaryFolder(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'plimsoll-'))
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Runs `job` with a folder of its own and removes it afterwards. */
export async function withFolder<T>(job: (folder: string) => Promise<T>): Promise<T> {
  const { folder, remove } = await temporaryFolder()
  try {
    return await job(folder)
  } finally {
    await remove()
  }
}
