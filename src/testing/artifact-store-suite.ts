import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type ErrorCode, isPlimsollError } from '../core/errors.ts'
import { handleOf, isHandle } from '../core/handles.ts'
import type { ArtifactStore } from '../ports/artifact-store.ts'
import type { Clock } from '../ports/clock.ts'
import { manualClock } from './session-store/records.ts'

export interface ArtifactStoreSetup {
  /** Stores opened with the same space share their data, like two processes; another space starts empty. */
  readonly space: string
  readonly clock: Clock
  /** The most bytes that a tenant may store, in cases about quotas. */
  readonly quotaBytes?: number
}

export type MakeArtifactStore = (setup: ArtifactStoreSetup) => ArtifactStore | Promise<ArtifactStore>

export interface ArtifactStoreCase {
  readonly name: string
  readonly run: (makeStore: MakeArtifactStore) => Promise<void>
}

type Body = (store: ArtifactStore, clock: TestClock, again: () => Promise<ArtifactStore>) => Promise<void>

type TestClock = ReturnType<typeof manualClock>

const SECOND = 1000
const QUOTA_BYTES = 1000

let spaces = 0

function caseOf(name: string, body: Body, quotaBytes?: number): ArtifactStoreCase {
  return {
    name,
    async run(makeStore) {
      const clock = manualClock(Date.UTC(2026, 0, 2, 3, 4, 5))
      const space = `artifact-suite-${process.pid}-${spaces++}`
      const open = async (): Promise<ArtifactStore> => makeStore({ space, clock, quotaBytes })
      const store = await open()
      try {
        await body(store, clock, open)
      } finally {
        await store.close()
      }
    },
  }
}

async function putMany(store: ArtifactStore, clock: TestClock, count: number): Promise<string[]> {
  const handles: string[] = []
  for (let i = 0; i < count; i++) {
    clock.advance(SECOND)
    handles.push((await store.put('a', text(`artifact ${i}`))).handle)
  }
  return handles
}

/** Compares bytes only: a driver may return a Buffer or a plain array. */
async function assertReads(
  store: ArtifactStore,
  tenant: string,
  handle: string,
  bytes: Uint8Array,
  message?: string,
): Promise<void> {
  assert.deepEqual(Buffer.from(present(await store.read(tenant, handle))), Buffer.from(bytes), message)
}

async function rejectsWith(code: ErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(
    promise,
    (error) => isPlimsollError(error, code) || assert.fail(`expected ${code}, got ${String(error)}`),
  )
}

function present<T>(value: T | undefined): T {
  assert.notEqual(value, undefined)
  return value as T
}

const text = (content: string): Uint8Array => new TextEncoder().encode(content)
const everyByte = (): Uint8Array => Uint8Array.from({ length: 256 }, (_, i) => i)

/** The same bytes for a length in every run, so that a failure can be reproduced. */
function randomBytes(length: number): Uint8Array {
  let state = length + 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  })
}

/** Content is returned as stored: bytes, ranges, descriptions, lists. */
const contentCases: Record<string, Body> = {
  async 'gives the exact bytes back'(store) {
    for (const bytes of [text('plain\n'), text(''), text('\ud83d\ude00 é\r\n'), everyByte(), randomBytes(300_000)]) {
      const { handle } = await store.put('a', bytes)
      await assertReads(store, 'a', handle, bytes)
    }
  },
  async 'describes what it stored'(store, clock) {
    const meta = {
      tool: 'bash',
      callId: 'c1',
      session: 's1',
      mime: 'text/plain',
      encoding: 'utf-8',
      lines: 2,
      items: 1,
      contentKind: 'log',
    } as const
    const stat = await store.put('a', text('one\ntwo\n'), meta)
    assert.ok(isHandle(stat.handle))
    const sha256 = createHash('sha256').update('one\ntwo\n').digest('hex')
    for (const [key, value] of Object.entries({ ...meta, bytes: 8, sha256, createdAt: clock.now() })) {
      assert.equal(stat[key as keyof typeof stat], value, key)
    }
    assert.deepEqual(await store.stat('a', stat.handle), stat)
    assert.deepEqual(await store.list('a'), [stat])
  },
  async 'names artifacts for people'(store) {
    const stat = await store.put('a', text('x'), { tool: '../../etc/passwd of\u0000 a tool' })
    assert.match(stat.name ?? '', /^[A-Za-z0-9_-]+_\d{8}_\d{6}_[0-9a-f]{6,12}\.log$/)
  },
  async 'gives the same bytes of one tenant the same handle, and keeps the first metadata'(store, clock) {
    const first = await store.put('a', text('same'), { tool: 'first' })
    clock.advance(SECOND)
    const second = await store.put('a', text('same'), { tool: 'second' })
    assert.deepEqual(second, first)
    assert.equal((await store.list('a')).length, 1)
  },
  async 'reads ranges'(store) {
    const { handle } = await store.put('a', text('0123456789'))
    const slice = async (start: number, end?: number): Promise<string> =>
      Buffer.from(present(await store.read('a', handle, end === undefined ? { start } : { start, end }))).toString()
    assert.equal(await slice(0, 4), '0123')
    assert.equal(await slice(4, 7), '456')
    assert.equal(await slice(8), '89')
    assert.equal(await slice(8, 99), '89')
    assert.equal(await slice(10), '')
    assert.equal(await slice(500, 600), '')
    assert.equal(await slice(3, 3), '')
    for (const range of [{ start: -1 }, { start: 4, end: 3 }, { start: 0.5 }, { start: Number.NaN }]) {
      await rejectsWith('bad-input', store.read('a', handle, range))
    }
  },
  async 'reads ranges of large artifacts, wherever they begin and end'(store) {
    const bytes = randomBytes(200_000)
    const { handle } = await store.put('a', bytes)
    const borders = [0, 1, 65_535, 65_536, 65_537, 131_072, 199_999, 200_000]
    for (const start of borders) {
      for (const end of borders.filter((border) => border >= start)) {
        const part = present(await store.read('a', handle, { start, end }))
        assert.deepEqual(Buffer.from(part), Buffer.from(bytes.subarray(start, end)), `${start} to ${end}`)
      }
    }
  },
  async 'shares no memory with its callers'(store) {
    const given = text('original')
    const { handle } = await store.put('a', given)
    given.fill(0)
    present(await store.read('a', handle)).fill(0)
    await assertReads(store, 'a', handle, text('original'))
  },
  async 'takes a part of a larger buffer for what it is'(store) {
    const whole = text('..middle..')
    const { handle, bytes } = await store.put('a', whole.subarray(2, 8))
    assert.equal(bytes, 6)
    await assertReads(store, 'a', handle, text('middle'))
  },
  async 'lists the newest first, by session, by tool, in pages'(store, clock) {
    const put = async (content: string, session: string, tool: string): Promise<string> => {
      clock.advance(SECOND)
      return (await store.put('a', text(content), { session, tool })).handle
    }
    const one = await put('one', 's1', 'bash')
    const two = await put('two', 's2', 'bash')
    const three = await put('three', 's1', 'curl')
    const handles = async (query: Parameters<ArtifactStore['list']>[1]): Promise<string[]> =>
      (await store.list('a', query)).map((stat) => stat.handle)
    assert.deepEqual(await handles({}), [three, two, one])
    assert.deepEqual(await handles({ session: 's1' }), [three, one])
    assert.deepEqual(await handles({ tool: 'bash' }), [two, one])
    assert.deepEqual(await handles({ limit: 2 }), [three, two])
    assert.deepEqual(await handles({ limit: 2, after: two }), [one])
    assert.deepEqual(await handles({ session: 's1', tool: 'bash' }), [one])
    await store.put('a', text('two'), { session: 's1' })
    assert.deepEqual(await handles({ session: 's1' }), [three, two, one])
    await store.release('a', 's1')
    assert.deepEqual(await handles({ session: 's1' }), [three, one])
    await rejectsWith('not-found', store.list('a', { after: handleOf(new Uint8Array(32)) }))
  },
  async 'refuses work after it was closed'(store) {
    const { handle } = await store.put('a', text('x'))
    await store.close()
    await rejectsWith('closed', store.put('a', text('y')))
    await rejectsWith('closed', store.read('a', handle))
    await rejectsWith('closed', store.list('a'))
    await store.close()
  },
}

/** No name and no handle opens another tenant's content. */
const tenantCases: Record<string, Body> = {
  async 'keeps tenants apart, even when they store the same bytes'(store) {
    const ours = await store.put('a', text('shared'))
    const theirs = await store.put('b', text('shared'))
    assert.notEqual(ours.handle, theirs.handle)
    assert.equal(await store.read('b', ours.handle), undefined)
    assert.equal(await store.stat('b', ours.handle), undefined)
    assert.equal(await store.remove('b', ours.handle), false)
    await store.reference('b', 's', [ours.handle])
    assert.equal((await store.list('b')).length, 1)
    assert.equal(await store.remove('a', ours.handle), true)
    await assertReads(store, 'b', theirs.handle, text('shared'))
  },
  async 'keeps apart tenants and sessions with hostile names'(store) {
    const names = [
      'a',
      'A',
      '../a',
      'a/b',
      '..',
      '.',
      '',
      'a\u0000b',
      '\u2024\u2024/a',
      'ä',
      'a\u0308',
      '%2e%2e',
      'con',
      'x'.repeat(5000),
    ]
    for (const name of names) await store.put(name, text(`of ${name}`), { session: name })
    for (const name of names) {
      const stats = await store.list(name, { session: name })
      assert.equal(stats.length, 1, JSON.stringify(name.slice(0, 20)))
      await assertReads(store, name, present(stats[0]).handle, text(`of ${name}`))
    }
  },
  async 'knows nothing of handles that it did not give'(store) {
    await store.put('a', text('x'))
    const forged = handleOf(new Uint8Array(32).fill(7))
    const strange = [
      forged,
      '',
      '..',
      '../../x',
      '/etc/passwd',
      'art_',
      `${forged}/..`,
      `${forged}\u0000`,
      'art_' + '.'.repeat(26),
      'x'.repeat(10_000),
    ]
    for (const handle of strange) {
      assert.equal(await store.read('a', handle), undefined)
      assert.equal(await store.stat('a', handle), undefined)
      assert.equal(await store.remove('a', handle), false)
      await store.reference('a', 's', [handle])
    }
    assert.deepEqual(await store.list('a', { session: 's' }), [])
  },
}

/** What is deleted, and what must stay. */
const retentionCases: Record<string, Body> = {
  async 'prunes nothing by an empty rule or below the clean-up mark'(store, clock) {
    await putMany(store, clock, 149)
    assert.deepEqual(await store.prune('a', {}), [])
    assert.deepEqual(await store.prune('a', { keep: 100, cleanAt: 150 }), [])
    assert.equal((await store.list('a')).length, 149)
  },
  async 'keeps the newest 100 once there are 150'(store, clock) {
    const handles = await putMany(store, clock, 150)
    assert.deepEqual(await store.prune('a', { keep: 100, cleanAt: 150 }), handles.slice(0, 50))
    assert.deepEqual((await store.list('a')).map((stat) => stat.handle).toReversed(), handles.slice(50))
    assert.equal(await store.read('a', present(handles[0])), undefined)
  },
  async 'never prunes what a live session put or references'(store, clock) {
    const [own, cited, loose] = [
      await store.put('a', text('own'), { session: 'live' }),
      await store.put('a', text('cited'), { session: 'done' }),
      await store.put('a', text('loose'), { session: 'done' }),
    ]
    await store.reference('a', 'live', [cited.handle])
    await store.release('a', 'done')
    clock.advance(1000 * SECOND)
    assert.deepEqual(await store.prune('a', { keep: 0, maxAgeMs: 1 }), [loose.handle])
    await assertReads(store, 'a', own.handle, text('own'))
    await store.release('a', 'live')
    assert.deepEqual(new Set(await store.prune('a', { keep: 0 })), new Set([own.handle, cited.handle]))
    assert.deepEqual(await store.list('a'), [])
  },
  async 'prunes by age, and counts a repeated put as young'(store, clock) {
    const old = await store.put('a', text('old'))
    const renewed = await store.put('a', text('renewed'))
    clock.advance(100 * SECOND)
    await store.put('a', text('renewed'))
    await store.put('a', text('new'))
    assert.deepEqual(await store.prune('a', { maxAgeMs: 50 * SECOND }), [old.handle])
    assert.ok(await store.stat('a', renewed.handle))
  },
  async 'prunes one tenant only'(store) {
    await store.put('a', text('x'))
    await store.put('b', text('x'))
    assert.equal((await store.prune('a', { keep: 0 })).length, 1)
    assert.equal((await store.list('b')).length, 1)
  },
  async 'takes back what was pruned or removed'(store) {
    const first = await store.put('a', text('again'), { session: 's' })
    await store.release('a', 's')
    await store.prune('a', { keep: 0 })
    assert.equal((await store.put('a', text('again'))).handle, first.handle)
    assert.equal(await store.remove('a', first.handle), true)
    assert.equal(await store.remove('a', first.handle), false)
    await store.put('a', text('again'))
    await assertReads(store, 'a', first.handle, text('again'))
  },
  async 'forgets the references to what was removed'(store) {
    const { handle } = await store.put('a', text('gone'), { session: 's' })
    await store.remove('a', handle)
    await store.put('a', text('gone'))
    assert.deepEqual(await store.prune('a', { keep: 0 }), [handle])
  },
}

/** Several writers, several handles on one store, and a store that is opened again. */
const sharingCases: Record<string, Body> = {
  async 'takes 20 concurrent writers of the same and of different bytes'(store) {
    const same = randomBytes(50_000)
    const stats = await Promise.all(
      Array.from({ length: 20 }, (_, i) => [
        store.put('a', same, { tool: 'same' }),
        store.put('a', text(`different ${i}`)),
      ]).flat(),
    )
    assert.equal(new Set(stats.map((stat) => stat.handle)).size, 21)
    assert.equal((await store.list('a')).length, 21)
    await assertReads(store, 'a', present(stats[0]).handle, same)
    for (const [i, { handle }] of stats.filter((_, i) => i % 2 === 1).entries()) {
      await assertReads(store, 'a', handle, text(`different ${i}`))
    }
  },
  async 'loses nothing that was put while another prunes'(store) {
    const contents = Array.from({ length: 10 }, (_, i) => `contended ${i}`)
    for (let round = 0; round < 10; round++) {
      const session = `s${round}`
      const [stats] = await Promise.all([
        Promise.all(contents.map((content) => store.put('a', text(content), { session }))),
        store.prune('a', { keep: 0 }),
        store.prune('a', { keep: 0 }),
      ])
      for (const [i, { handle }] of stats.entries()) {
        await assertReads(store, 'a', handle, text(present(contents[i])), `round ${round}, ${contents[i]}`)
      }
      await store.release('a', session)
    }
  },
}

/** For stores whose data outlives the store object. */
const durableCases: Record<string, Body> = {
  async 'is the same store when it is opened again'(store, _clock, again) {
    const kept = await store.put('a', text('kept'), { tool: 'bash', session: 's' })
    const loose = await store.put('a', text('loose'))
    await store.close()
    const reopened = await again()
    assert.deepEqual(await reopened.stat('a', kept.handle), kept)
    await assertReads(reopened, 'a', kept.handle, text('kept'))
    assert.deepEqual(await reopened.prune('a', { keep: 0 }), [loose.handle])
    assert.equal((await reopened.put('a', text('kept'))).handle, kept.handle)
    await reopened.close()
  },
  async 'is one store for two openers'(store, _clock, again) {
    const other = await again()
    const { handle } = await store.put('a', text('x'))
    await assertReads(other, 'a', handle, text('x'))
    await other.reference('a', 'theirs', [handle])
    assert.deepEqual(await store.prune('a', { keep: 0 }), [])
    await other.release('a', 'theirs')
    assert.deepEqual(await store.prune('a', { keep: 0 }), [handle])
    assert.equal(await other.stat('a', handle), undefined)
    await other.close()
  },
}

/** The bound on a tenant's bytes. */
const quotaCases: Record<string, Body> = {
  async 'holds the quota of each tenant'(store) {
    const { handle } = await store.put('a', randomBytes(600))
    await rejectsWith('quota-exceeded', store.put('a', randomBytes(401)))
    await store.put('a', randomBytes(600))
    await store.put('b', randomBytes(1000))
    await store.put('a', randomBytes(400))
    await store.remove('a', handle)
    await store.put('a', randomBytes(600))
  },
  async 'holds the quota for 20 writers at once'(store) {
    const writes = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => store.put('a', randomBytes(100 + i))))
    const stored = (await store.list('a')).reduce((sum, stat) => sum + stat.bytes, 0)
    assert.ok(stored <= QUOTA_BYTES, `${stored} bytes are stored`)
    assert.equal((await store.list('a')).length, writes.filter((write) => write.status === 'fulfilled').length)
    for (const write of writes) {
      if (write.status === 'rejected') assert.ok(isPlimsollError(write.reason, 'quota-exceeded'), String(write.reason))
    }
  },
}

export interface ArtifactStoreSuiteOptions {
  /** The data outlives the store object. @default true */
  readonly durable?: boolean
  /** The driver supports quotas. @default true */
  readonly quota?: boolean
}

const ALWAYS = { ...contentCases, ...tenantCases, ...retentionCases, ...sharingCases }

/**
 * What every artifact store must do, as plain functions on `node:assert`: run them under any test runner.
 *
 * ```ts
 * for (const { name, run } of artifactStoreCases()) it(name, () => run(makeStore))
 * ```
 */
export function artifactStoreCases(options: ArtifactStoreSuiteOptions = {}): readonly ArtifactStoreCase[] {
  const { durable = true, quota = true } = options
  return [
    ...Object.entries(ALWAYS).map(([name, body]) => caseOf(name, body)),
    ...(durable ? Object.entries(durableCases).map(([name, body]) => caseOf(name, body)) : []),
    ...(quota ? Object.entries(quotaCases).map(([name, body]) => caseOf(name, body, QUOTA_BYTES)) : []),
  ]
}
