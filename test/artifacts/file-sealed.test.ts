import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { nodeFileSystem, type FileSystem } from '../../src/drivers/artifacts/file-system.ts'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { aesSeal } from '../../src/drivers/crypto/seal.ts'
import { aesByteSeal } from '../../src/drivers/crypto/byte-seal.ts'
import { withFolder } from '../stores/support/temporary.ts'

const secret = randomBytes(32)
const key = randomBytes(32)
const seals = { bytes: aesByteSeal(key), text: aesSeal(key) }
const PIECE = 64 * 1024 + 16

async function bytesFile(directory: string): Promise<string> {
  const files = await readdir(directory, { recursive: true })
  return join(
    directory,
    files.find((name) => name.endsWith('bytes'))!,
  )
}

/** The real file system, and how many bytes were read from files that were opened. */
function counting(): { fileSystem: FileSystem; read: () => number } {
  let total = 0
  const open: FileSystem['open'] = async (...args) => {
    const file = await nodeFileSystem.open(...args)
    return new Proxy(file, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'read') return value.bind(target) as unknown
        return async (buffer: Uint8Array, offset: number, length: number, position: number) => {
          const result = await target.read(buffer, offset, length, position)
          total += result.bytesRead
          return result
        }
      },
    })
  }
  return { fileSystem: { ...nodeFileSystem, open }, read: () => total }
}

describe('encrypted artifacts in files', () => {
  it('open a range without reading the rest', async () => {
    await withFolder(async (directory) => {
      const { fileSystem, read } = counting()
      const store = fileArtifacts({ directory, secret, seals, fileSystem })
      const bytes = randomBytes(4 * 1024 * 1024)
      const { handle } = await store.put('t', bytes)
      const range = { start: 1_000_000, end: 1_000_100 }
      expect(await store.read('t', handle, range)).toEqual(bytes.subarray(range.start, range.end))
      expect(read()).toBe(PIECE)
      await store.close()
    })
  })

  it.each([
    ['cut short', 150_000, (file: Buffer) => file.subarray(0, PIECE)],
    ['with a flipped bit', 5, (file: Buffer) => Buffer.concat([Buffer.of(file[0]! ^ 1), file.subarray(1)])],
    [
      'with two pieces in each other’s place',
      5,
      (file: Buffer) =>
        Buffer.concat([file.subarray(PIECE, 2 * PIECE), file.subarray(0, PIECE), file.subarray(2 * PIECE)]),
    ],
  ])('are refused %s, whole and in a range', async (_what, start, damage) => {
    await withFolder(async (directory) => {
      const store = fileArtifacts({ directory, secret, seals })
      const { handle } = await store.put('t', randomBytes(200_000))
      const path = await bytesFile(directory)
      await writeFile(path, damage(await readFile(path)))
      await expect(store.read('t', handle)).rejects.toMatchObject({ code: 'corrupt' })
      await expect(store.read('t', handle, { start, end: start + 5 })).rejects.toMatchObject({ code: 'corrupt' })
      await store.close()
    })
  })

  it('do not open for another tenant, even where its file was put in place of theirs', async () => {
    await withFolder(async (directory) => {
      const store = fileArtifacts({ directory, secret, seals })
      const { handle } = await store.put('a', Buffer.from('of a'))
      const theirs = await bytesFile(directory)
      await store.put('b', Buffer.from('of b'))
      const files = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('bytes'))
      const ours = files.map((name) => join(directory, name)).find((path) => path !== theirs)!
      await writeFile(theirs, await readFile(ours))
      await expect(store.read('a', handle)).rejects.toMatchObject({ code: 'corrupt' })
      await store.close()
    })
  })

  it('refuse a key in a folder that was filled without one', async () => {
    await withFolder(async (directory) => {
      const plain = fileArtifacts({ directory, secret })
      await plain.put('t', Buffer.from('readable'))
      await plain.close()
      const sealed = fileArtifacts({ directory, secret, seals })
      await expect(sealed.put('t', Buffer.from('secret'))).rejects.toMatchObject({ code: 'bad-config' })
    })
  })
})
