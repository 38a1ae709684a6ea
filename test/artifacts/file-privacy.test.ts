import { randomBytes } from 'node:crypto'
import {
  appendFile,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileArtifacts } from '../../src/drivers/artifacts/file.ts'
import { nodeFileSystem } from '../../src/drivers/artifacts/file-system.ts'

const secret = randomBytes(32)
const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const clock = { now: () => now }
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
    const store = fileArtifacts({ directory: join(folder, 'store'), secret, links: join(folder, 'links') })
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
    const links = (await readdir(join(folder, 'links'))).filter((name) => name !== '.plimsoll-tenant')
    for (const name of links) expect(name).toMatch(/^[A-Za-z0-9_-]{1,40}_\d{8}_\d{6}_[0-9a-f]{6}\.log$/)
    expect(await readdir(folder)).toEqual(['links', 'store'])
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
    const store = fileArtifacts({ directory: folder, secret, links: `${folder}-links` })
    const { handle, path = '' } = await store.put('a', Buffer.from('evidence'))
    await appendFile(path, ' tampered')
    await expect(store.read('a', handle)).rejects.toMatchObject({ code: 'corrupt', fields: { handle } })
  })
})

describe('links for a shell', () => {
  it('shows each artifact under a readable path and takes it away with the artifact', async () => {
    const folder = newFolder()
    const store = fileArtifacts({ directory: folder, secret, clock, links: `${folder}-links` })
    const { handle, path = '', name = '' } = await store.put('a', Buffer.from('line\n'), { tool: 'kubectl get pods' })
    expect(name).toMatch(/^kubectl_get_pods_20260102_030405_[0-9a-f]{6}\.log$/)
    expect(path).toBe(join(`${folder}-links`, name))
    expect(await readFile(path, 'utf8')).toBe('line\n')
    expect((await store.stat('a', handle))?.path).toBe(path)
    expect((await store.list('a'))[0]?.path).toBe(path)
    expect((await store.put('a', Buffer.from('line\n'))).path).toBe(path)
    await store.prune('a', { keep: 0 })
    expect((await readdir(`${folder}-links`)).filter((file) => file.endsWith('.log'))).toEqual([])
  })

  it('belongs to one tenant, or gives each its own', async () => {
    const folder = newFolder()
    const shared = fileArtifacts({ directory: folder, secret, links: `${folder}-links` })
    expect((await shared.put('a', Buffer.from('of a'))).path).toBeDefined()
    expect((await shared.put('b', Buffer.from('of b'))).path).toBeUndefined()
    const apart = fileArtifacts({
      directory: newFolder(),
      secret,
      links: (tenant) => (tenant === 'c' ? undefined : `${folder}-${tenant}`),
    })
    expect((await apart.put('a', Buffer.from('of a'))).path).toContain(`${folder}-a`)
    expect((await apart.put('b', Buffer.from('of b'))).path).toContain(`${folder}-b`)
    expect((await apart.put('c', Buffer.from('of c'))).path).toBeUndefined()
  })

  it('works through a folder that is itself reached by a link', async () => {
    const folder = newFolder()
    await mkdir(`${folder}-real/deep`, { recursive: true })
    await symlink(`${folder}-real/deep`, `${folder}-alias`)
    const store = fileArtifacts({ directory: folder, secret, links: `${folder}-alias` })
    const { path = '' } = await store.put('a', Buffer.from('seen'))
    expect(await readFile(path, 'utf8')).toBe('seen')
  })

  it('gives two artifacts of one second their own names', async () => {
    const folder = newFolder()
    const store = fileArtifacts({ directory: folder, secret, clock, links: `${folder}-links` })
    const stats = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.put('a', Buffer.from(`${i}`), { tool: 'bash' })),
    )
    expect(new Set(stats.map((each) => each.path)).size).toBe(50)
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
