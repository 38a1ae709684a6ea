import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { handleOf, isHandle } from '../../core/handles.ts'
import type { ArtifactStore } from '../../ports/artifact-store.ts'
import { assertReads, everyByte, present, randomBytes, rejectsWith, SECOND, text, type Body } from './subject.ts'

/** What goes in comes out: bytes, ranges, descriptions, lists. */
export const contentCases: Record<string, Body> = {
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
