import { randomBytes } from 'node:crypto'
import { appendFile, lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { nodeFileSystem } from '../../src/drivers/artifacts/file-system.ts'

const secret = randomBytes(32)
let directory = ''
let folders = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'plimsoll-privacy-'))
})
afterAll(async () => rm(directory, { recursive: true, force: true }))

const newFolder = (): string => join(directory, String(folders++))

async function* walk(path: string): AsyncGenerator<string> {
  yield path
  if ((await lstat(path)).isDirectory()) for (const name of await readdir(path)) yield* walk(join(path, name))
}

describe('private by default', () => {
  it('gives every folder 0700 and every file 0600, whatever the umask', async () => {
    const folder = newFolder()
    const before = process.umask(0)
    try {
      await fileArtifacts({ directory: folder, secret }).put('a', Buffer.from('x'), { session: 's' })
    } finally {
      process.umask(before)
    }
    const seen = new Set<string>()
    for await (const path of walk(folder)) {
      const info = await lstat(path)
      seen.add(info.isDirectory() ? 'folder' : 'file')
      expect((info.mode & 0o777).toString(8), path).toBe(info.isDirectory() ? '700' : '600')
    }
    expect(seen.size).toBe(2)
  })

  it('lets no name from outside into a path', async () => {
    const folder = newFolder()
    const store = fileArtifacts({ directory: join(folder, 'store'), secret })
    const hostile = [
      '../../out',
      '..\\out',
      '/etc/out',
      '%2e%2e/out',
      'out\u0000',
      'o'.repeat(300),
      '\u2024\u2024/out',
      '.',
    ]
    for (const name of hostile) {
      const { handle } = await store.put('same tenant', Buffer.from(name), { tool: name, session: name, callId: name })
      await store.reference(name, name, [handle, name])
      await store.release(name, name)
      await store.put(name, Buffer.from(name), { session: name })
    }
    for await (const path of walk(join(folder, 'store'))) expect(path).not.toMatch(/out|oooo/)
    expect(await readdir(folder)).toEqual(['store'])
    expect(await readdir(directory)).not.toContain('out')
  })

  it('follows no link that stands in place of its folders or files', async () => {
    const folder = newFolder()
    const outside = newFolder()
    await mkdir(outside)
    const store = fileArtifacts({ directory: folder, secret })
    const { handle } = await store.put('a', Buffer.from('inside'))
    const [tenant = ''] = await readdir(join(folder, 'v1'))
    const [name = ''] = await readdir(join(folder, 'v1', tenant, 'objects'))
    const bytes = join(folder, 'v1', tenant, 'objects', name, 'bytes')
    await writeFile(join(outside, 'secret'), 'outside')
    await rm(bytes)
    await symlink(join(outside, 'secret'), bytes)
    await expect(store.read('a', handle)).rejects.toMatchObject({
      code: 'store-unavailable',
      fields: { errno: 'ELOOP' },
    })

    await rm(join(folder, 'v1', tenant), { recursive: true })
    await symlink(outside, join(folder, 'v1', tenant))
    await expect(fileArtifacts({ directory: folder, secret }).put('a', Buffer.from('x'))).rejects.toMatchObject({
      code: 'forbidden',
    })
  })

  it('tells nothing about a tenant or its content without the secret', async () => {
    const folder = newFolder()
    const { handle } = await fileArtifacts({ directory: folder, secret }).put('a', Buffer.from('x'))
    const other = fileArtifacts({ directory: folder, secret: randomBytes(32) })
    expect(await other.read('a', handle)).toBeUndefined()
    expect((await other.put('a', Buffer.from('x'))).handle).not.toBe(handle)
    expect(() => fileArtifacts({ directory: folder, secret: randomBytes(15) })).toThrow(/secret has 15 bytes/)
    await expect(other.put('\ud800', Buffer.from('x'))).rejects.toMatchObject({ code: 'bad-input' })
  })

  it('notices bytes that something else changed', async () => {
    const folder = newFolder()
    const store = fileArtifacts({ directory: folder, secret })
    const { handle } = await store.put('a', Buffer.from('evidence'))
    for await (const path of walk(folder)) if (path.endsWith('/bytes')) await appendFile(path, ' tampered')
    await expect(store.read('a', handle)).rejects.toMatchObject({ code: 'corrupt', fields: { handle } })
  })
})

describe('thrift', () => {
  it('reads only the range that was asked for', async () => {
    const folder = newFolder()
    await fileArtifacts({ directory: folder, secret }).put('a', new Uint8Array(5_000_000))
    const lengths: number[] = []
    const fileSystem = {
      ...nodeFileSystem,
      open: (async (...args: Parameters<typeof nodeFileSystem.open>) => {
        const file = await nodeFileSystem.open(...args)
        const read = file.read.bind(file) as (...args: unknown[]) => unknown
        return Object.assign(file, { read: (...args: unknown[]) => (lengths.push(Number(args[2])), read(...args)) })
      }) as typeof nodeFileSystem.open,
    }
    const store = fileArtifacts({ directory: folder, secret, fileSystem })
    const [found] = await store.list('a')
    expect(lengths).toEqual([])
    expect(await store.read('a', found?.handle ?? '', { start: 4_000_000, end: 4_000_100 })).toHaveLength(100)
    expect(lengths).toEqual([100])
  })

  it('clears away what dead writers left, and only that', async () => {
    const folder = newFolder()
    const store = fileArtifacts({ directory: folder, secret })
    await store.put('a', Buffer.from('x'))
    const [tenant = ''] = await readdir(join(folder, 'v1'))
    const writing = join(folder, 'v1', tenant, 'writing')
    await mkdir(join(writing, 'dead'))
    await mkdir(join(writing, 'alive'))
    const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000)
    await utimes(join(writing, 'dead'), longAgo, longAgo)
    await store.prune('a', {})
    expect(await readdir(writing)).toEqual(['alive'])
    expect((await stat(join(writing, 'alive'))).isDirectory()).toBe(true)
  })
})
