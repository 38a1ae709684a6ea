import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { fileArtifacts, type FileArtifactsOptions } from '../../src/drivers/artifacts/file.ts'
import { nodeFileSystem } from '../../src/drivers/artifacts/file-system.ts'
import type { ArtifactStore } from '../../src/ports/artifact-store.ts'
import { contentOf } from './content.ts'
import { crashAt, failWith, failingFileSystem, type Fault } from './failing-file-system.ts'

const secret = randomBytes(32)
const fresh = Buffer.from('fresh '.repeat(2000))
let directory = ''
let folders = 0

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'plimsoll-faults-'))
})
afterAll(async () => rm(directory, { recursive: true, force: true }))

const newFolder = (): string => join(directory, String(folders++))
const open = (folder: string, options: Partial<FileArtifactsOptions> = {}): ArtifactStore =>
  fileArtifacts({ directory: join(folder, 'store'), secret, ...options })

/** Everything in the store is whole, and nothing of a half-done write can be seen. */
async function expectWhole(store: ArtifactStore): Promise<Set<string>> {
  const stats = await store.list('a')
  for (const { handle, bytes } of stats) expect((await store.read('a', handle))?.length).toBe(bytes) // read checks the hash
  return new Set(stats.map((stat) => stat.handle))
}

interface Handles {
  readonly live: string
  readonly twin: string
  readonly loose: string
}

/** Runs `act` against a store with three artifacts once for each call that it makes to the disk, and dies there. */
async function crashEverywhere(
  act: (store: ArtifactStore, handles: Handles) => Promise<unknown>,
  check: (store: ArtifactStore, handles: Handles, acknowledged: boolean) => Promise<void>,
): Promise<number> {
  const template = newFolder()
  const before = open(template)
  const put = async (text: string, session?: string): Promise<string> =>
    (await before.put('a', Buffer.from(text), { tool: 'bash', ...(session === undefined ? {} : { session }) })).handle
  const [live, twin, loose] = [await put('live', 'live'), await put('twin', 'live'), await put('loose')]
  await before.close()
  for (let at = 0; ; at++) {
    const folder = newFolder()
    await cp(template, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
    const { fileSystem, calls } = failingFileSystem(crashAt(at))
    const acknowledged = await act(open(folder, { fileSystem }), { live, twin, loose }).then(
      () => true,
      (error: unknown) => {
        expect(isPlimsollError(error, 'store-unavailable'), String(error)).toBe(true)
        return false
      },
    )
    const after = open(folder)
    await expectWhole(after)
    expect(Buffer.from((await after.read('a', live)) ?? [])).toEqual(Buffer.from('live'))
    await check(after, { live, twin, loose }, acknowledged)
    await after.close()
    if (acknowledged && calls.length <= at) return at
  }
}

// Hundreds of stores and their syncs: slow on a busy disk.
describe('a crash at any call to the disk', { timeout: 300_000 }, () => {
  it('leaves a put whole or not at all', async () => {
    const points = await crashEverywhere(
      async (store) => store.put('a', fresh, { tool: 'bash', session: 's' }),
      async (store, _, acknowledged) => {
        const found = (await store.list('a', { tool: 'bash' })).find(({ bytes }) => bytes === fresh.length)
        if (acknowledged) expect(found).toBeDefined()
        const { handle } = await store.put('a', fresh, { tool: 'bash', session: 's' })
        expect(Buffer.from((await store.read('a', handle)) ?? [])).toEqual(fresh)
      },
    )
    expect(points).toBeGreaterThan(20)
  })

  it('never lets a prune take what is referenced, nor half of anything', async () => {
    const points = await crashEverywhere(
      async (store) => store.prune('a', { keep: 0 }),
      async (store, { loose }, acknowledged) => {
        if (acknowledged) expect(await store.stat('a', loose)).toBeUndefined()
        await store.prune('a', { keep: 0 })
        expect(await expectWhole(store)).toHaveLength(2)
      },
    )
    expect(points).toBeGreaterThan(20)
  })

  it('leaves all marks of a session or none when it is released', async () => {
    const outcomes = new Set<number>()
    await crashEverywhere(
      async (store) => store.release('a', 'live'),
      async (store, { live, twin }, acknowledged) => {
        const gone = await store.prune('a', { keep: 0 })
        const released = [live, twin].filter((handle) => gone.includes(handle)).length
        expect(acknowledged ? [2] : [0, 2]).toContain(released)
        outcomes.add(released)
      },
    )
    expect(outcomes).toEqual(new Set([0, 2]))
  })

  it('loses no mark that was acknowledged', async () => {
    await crashEverywhere(
      async (store, { loose }) => store.reference('a', 'other', [loose]),
      async (store, { loose }, acknowledged) => {
        const gone = await store.prune('a', { keep: 0 })
        if (acknowledged) expect(gone).not.toContain(loose)
      },
    )
  })

  it('leaves a removed artifact whole or gone', async () => {
    await crashEverywhere(
      async (store, { loose }) => store.remove('a', loose),
      async (store, { loose }, acknowledged) => {
        if (acknowledged) expect(await store.read('a', loose)).toBeUndefined()
      },
    )
  })
})

describe('durability', { timeout: 300_000 }, () => {
  it('syncs bytes, description and folder before the move, and the place after it', async () => {
    const { fileSystem, calls } = failingFileSystem(() => undefined)
    const store = open(newFolder(), { fileSystem })
    await store.put('a', Buffer.from('first'))
    calls.length = 0
    await store.put('a', fresh)
    const order = (wanted: RegExp): number => calls.findLastIndex((call) => wanted.test(call))
    const steps = [
      /file\.sync .*bytes$/,
      /file\.sync .*meta\.json$/,
      /file\.sync .*writing\/[^/]*$/,
      /^rename .*writing/,
      /file\.sync .*objects$/,
    ]
    const positions = steps.map(order)
    expect(positions).not.toContain(-1)
    expect(positions).toEqual([...positions].sort((a, b) => a - b))
  })

  it('loses nothing acknowledged and shows nothing torn when writers are killed', async () => {
    const folder = newFolder()
    const child = fileURLToPath(new URL('./writer-child.ts', import.meta.url))
    const acknowledged = new Map<string, number>()
    for (const [round, acks] of [1, 2, 3, 5, 8, 13].entries()) {
      const args = ['--import', 'tsx', child, folder, secret.toString('hex'), String(round * 1000), '1000000', '3']
      const writer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      let seen = 0
      for await (const line of createInterface(writer.stdout)) {
        const [number, handle] = line.split(' ')
        if (handle?.length === 30) acknowledged.set(handle, Number(number))
        if (++seen === acks) writer.kill('SIGKILL')
      }
      expect(writer.signalCode ?? (await once(writer, 'exit'))[1]).toBe('SIGKILL')
    }
    const store = fileArtifacts({ directory: folder, secret })
    const present = await expectWhole(store)
    expect(acknowledged.size).toBeGreaterThanOrEqual(32)
    for (const [handle, number] of acknowledged) {
      expect(present).toContain(handle)
      expect(Buffer.compare((await store.read('a', handle)) ?? new Uint8Array(), contentOf(number))).toBe(0)
    }
    expect(await store.prune('a', { keep: 0 })).toEqual([]) // the dead writers' sessions were never released
  })

  it('takes 20 writers in 4 processes that write the same things', async () => {
    const folder = newFolder()
    const child = fileURLToPath(new URL('./writer-child.ts', import.meta.url))
    const writers = Array.from({ length: 4 }, () => {
      const args = ['--import', 'tsx', child, folder, secret.toString('hex'), '0', '30', '5']
      return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    })
    for (const writer of writers) if (writer.exitCode === null) expect((await once(writer, 'exit'))[0]).toBe(0)
    const store = fileArtifacts({ directory: folder, secret })
    expect(await expectWhole(store)).toHaveLength(30)
    const stats = await store.list('a')
    expect(new Set(stats.map((stat) => stat.bytes))).toEqual(
      new Set(Array.from({ length: 30 }, (_, i) => contentOf(i).length)),
    )
  })
})

describe('a prune in one process and a user in another', () => {
  const uses: Record<string, (other: ArtifactStore, handle: string) => Promise<unknown>> = {
    'a put with a session': async (other) => other.put('a', fresh, { session: 'new' }),
    'a reference': async (other, handle) => other.reference('a', 'new', [handle]),
    'a put without a session': async (other) => other.put('a', fresh),
  }
  for (const moment of ['before', 'after'] as const) {
    for (const [name, use] of Object.entries(uses)) {
      it(`keeps what ${name} needs just ${moment} it is taken out`, async () => {
        const folder = newFolder()
        let now = 1000
        const clock = { now: () => now }
        const other = open(folder, { clock })
        const { handle } = await other.put('a', fresh)
        now = 1500
        let used = 0
        const rename: typeof nodeFileSystem.rename = async (from, to) => {
          const isTaking = String(to).includes('/leaving/')
          if (isTaking && moment === 'before') used += Number((await use(other, handle)) !== null)
          await nodeFileSystem.rename(from, to)
          if (isTaking && moment === 'after') used += Number((await use(other, handle)) !== null)
        }
        const pruning = open(folder, { clock, fileSystem: { ...nodeFileSystem, rename } })
        // Without a session it is as if the prune had come first: deleted, and put again.
        const isAfterwards = moment === 'after' && name === 'a put without a session'
        expect(await pruning.prune('a', { keep: 0 })).toEqual(isAfterwards ? [handle] : [])
        expect(used).toBe(1)
        expect(Buffer.from((await other.read('a', handle)) ?? [])).toEqual(fresh)
        expect(await readdir(await tenantPath(join(folder, 'store'), 'leaving'))).toEqual([])
      })
    }
  }

  it('can read an artifact while it is being looked at', async () => {
    const folder = newFolder()
    const other = open(folder)
    const { handle } = await other.put('a', fresh, { session: 's' })
    await other.release('a', 's')
    let seen: Uint8Array | undefined
    const rename: typeof nodeFileSystem.rename = async (from, to) => {
      await nodeFileSystem.rename(from, to)
      if (String(to).includes('/leaving/')) seen = await other.read('a', handle)
    }
    const pruning = open(folder, { fileSystem: { ...nodeFileSystem, rename } })
    expect(await pruning.prune('a', { keep: 0 })).toEqual([handle])
    expect(Buffer.from(seen ?? [])).toEqual(fresh)
    expect(await other.read('a', handle)).toBeUndefined()
  })
})

describe('a disk that fails', () => {
  const faults: Record<string, Fault> = {
    ENOSPC: failWith('ENOSPC', (operation, path) => operation === 'file.writeFile' && path.endsWith('bytes')),
    EDQUOT: failWith('EDQUOT', (operation, path) => operation === 'file.sync' && path.endsWith('meta.json')),
    EIO: failWith('EIO', (operation, path) => operation === 'rename' && path.includes('writing')),
    EACCES: failWith('EACCES', (operation) => operation === 'open'),
    EROFS: failWith('EROFS', (operation, path) => operation === 'mkdir' && path.includes('writing/')),
  }
  for (const [errno, fault] of Object.entries(faults)) {
    it(`says ${errno} clearly, cleans up and goes on when it is over`, async () => {
      const folder = newFolder()
      const working = open(folder)
      const { handle } = await working.put('a', Buffer.from('before'))
      let broken = true
      const { fileSystem } = failingFileSystem((...call) => broken && fault(...call))
      const store = open(folder, { fileSystem })
      const failure = await store.put('a', fresh).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'store-unavailable', fields: { errno } })
      expect(String(failure)).toContain('Could not store the artifact')
      expect(await expectWhole(working)).toEqual(new Set([handle]))
      broken = false
      expect(await readdir(await tenantPath(join(folder, 'store'), 'writing'))).toEqual([])
      await store.put('a', fresh)
      expect(await expectWhole(working)).toHaveLength(2)
    })
  }

  it('is really full', async () => {
    const folder = newFolder()
    await mkdir(folder)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status === 0
    if (!mounted) {
      console.warn('A full disk was only simulated: mounting a small tmpfs needs root.')
      return
    }
    try {
      const store = fileArtifacts({ directory: folder, secret })
      const { handle } = await store.put('a', randomBytes(1_000_000))
      const failure = await store.put('a', randomBytes(1_500_000)).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'store-unavailable', fields: { errno: 'ENOSPC' } })
      expect(await expectWhole(store)).toEqual(new Set([handle]))
      await store.put('a', randomBytes(500_000))
      expect(await expectWhole(store)).toHaveLength(2)
    } finally {
      spawnSync('umount', [folder])
    }
  })

  it('is really forbidden', async () => {
    const folder = newFolder()
    await mkdir(folder, { mode: 0o500 })
    await chmod(directory, 0o755)
    // Root may write everywhere, so it steps down for the moment.
    const root = process.getuid?.() === 0
    if (root) process.seteuid?.(65534)
    try {
      const failure = await open(folder)
        .put('a', fresh)
        .catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'store-unavailable', fields: { errno: 'EACCES' } })
      expect(String(failure)).toContain('permissions')
    } finally {
      if (root) process.seteuid?.(0)
    }
    expect(await readdir(folder)).toEqual([])
  })
})

/** The folder of the store's only tenant. */
async function tenantPath(folder: string, part: string): Promise<string> {
  const [tenant = ''] = await readdir(join(folder, 'v1'))
  return join(folder, 'v1', tenant, part)
}
