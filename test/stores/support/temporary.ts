import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs `job` with a folder of its own and removes it afterwards. */
export async function withFolder<T>(job: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'plimsoll-'))
  try {
    return await job(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
