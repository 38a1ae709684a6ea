import { messageOf } from '../../core/values.ts'
import { constants } from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { PlimsollError } from '../../core/errors.ts'
import { makeFolderSync } from '../../util/make-folder.ts'

/** The calls that the file driver makes, so that a test can let any one of them fail. */
export type FileSystem = Pick<
  typeof nodeFs,
  'lstat' | 'mkdir' | 'open' | 'readdir' | 'readFile' | 'realpath' | 'rename' | 'rm' | 'stat' | 'utimes'
>

export const nodeFileSystem: FileSystem = nodeFs

const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600
/** A link in place of a file that we wrote is never followed. */
export const READ_NO_FOLLOW = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

export const makeFolder = (path: string): void => makeFolderSync(path, PRIVATE_FOLDER)

/** Creates a file that was not there, private from its first moment, and waits until its bytes are on the disk. */
export async function writeNewFile(fs: FileSystem, path: string, bytes: Uint8Array): Promise<void> {
  const file = await fs.open(path, 'wx', PRIVATE_FILE)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the names in a folder durable. Windows cannot and some network file systems need not. */
export async function syncFolder(fs: FileSystem, path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await fs.open(path, 'r')
  try {
    await folder.sync()
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error
  } finally {
    await folder.close()
  }
}

export const codeOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined

export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'

/** What is found; undefined where it is not there. */
export const unlessMissing = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })

/** Two names for "something stands there already", and Windows' for a folder that is not empty. */
export const isTaken = (error: unknown): boolean => ['EEXIST', 'ENOTEMPTY', 'EPERM'].includes(codeOf(error) ?? '')

const ADVICE: Record<string, string> = {
  ENOSPC: 'The disk is full: free space or move the store.',
  EDQUOT: "The user's disk quota is used up: free space or move the store.",
  EFBIG: 'The file system or the process limit does not allow a file of this size.',
  EACCES: 'The process may not write there: check owner and permissions of the folder.',
  EPERM: 'The process may not write there: check owner and permissions of the folder.',
  EROFS: 'The file system is mounted read-only.',
  EMFILE: 'Too many files are open in this process.',
  ENFILE: 'Too many files are open on this machine.',
}

const PASSES_BY_ITSELF = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EIO'])

/** Turns a system error into one that says what was tried and what to do. Our own errors pass through. */
export function storeError(doing: string, error: unknown): PlimsollError {
  if (error instanceof PlimsollError) return error
  const errno = codeOf(error) ?? 'unknown'
  const reason = messageOf(error)
  return new PlimsollError('store-unavailable', `Could not ${doing}: ${reason}.`, {
    advice: ADVICE[errno],
    fields: { errno },
    retryable: PASSES_BY_ITSELF.has(errno),
    cause: error,
  })
}
