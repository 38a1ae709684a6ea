import { describe, expect, it } from 'vitest'
import type { LogRecord } from '../../src/core/records.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll } from '../../src/plimsoll.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { prepareReadAlong } from '../support/read-along.ts'

const usage = { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 40, reasoning: 0 }
const LARGE = 70
const request = (steps: number) => ({
  format: 'anthropic-messages',
  body: JSON.stringify(toolLoop({ steps, resultLength: (step) => (step === LARGE ? 60_000 : 400) })),
  targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
})

/** A store that tells what was written, each entry one transaction. */
function watched(): { store: SessionStore; take: () => string[]; records: LogRecord[] } {
  const store = memoryStore()
  let writes: string[] = []
  const records: LogRecord[] = []
  return {
    store: {
      ...store,
      async append(tenant, session, added, expected) {
        writes.push('append')
        records.push(...added)
        return store.append(tenant, session, added, expected)
      },
      async claimEpoch(tenant, session, epoch) {
        writes.push('claim')
        return store.claimEpoch(tenant, session, epoch)
      },
      async setValue(tenant, key, value, ifAbsent) {
        if (ifAbsent !== true) writes.push(`set ${key}`)
        return store.setValue(tenant, key, value, ifAbsent)
      },
    },
    take: () => writes.splice(0),
    records,
  }
}

describe('writes of a request', () => {
  it('an untouched one leaves without any; its items and its answer land together', async () => {
    const { store, take, records } = watched()
    const session = createPlimsoll({ store }).session({ id: 's' })
    for (let steps = 1; steps <= 5; steps++) {
      const { id, report } = await prepareReadAlong(session, request(steps))
      expect(report.untouched).toBe(true)
      expect(take()).toEqual([])
      await session.record({ turn: id, usage })
      expect(take()).toEqual(['append'])
    }
    const types = records.map(({ type }) => type)
    expect(types[0]).toBe('calibration')
    // Task, and for each step words, call and result; the newest step is there too.
    expect(types.filter((type) => type === 'item-seen')).toHaveLength(1 + 3 * 5)
    expect(types.filter((type) => type === 'usage')).toHaveLength(5)
  })

  it('an answer asks the log nothing, and takes in what another process wrote since its request', async () => {
    const store = memoryStore()
    let asked = 0
    const counting: SessionStore = { ...store, version: async (...place) => (asked++, store.version(...place)) }
    const own = createPlimsoll({ store: counting }).session({ id: 's' })
    const other = createPlimsoll({ store }).session({ id: 's' })
    const first = await prepareReadAlong(own, request(1))
    const before = asked
    await own.record({ turn: first.id, usage })
    expect(asked).toBe(before)
    const mine = await prepareReadAlong(own, request(2))
    const theirs = await prepareReadAlong(other, request(3))
    await other.record({ turn: theirs.id, usage: { ...usage, input: 2_000 } })
    await own.record({ turn: mine.id, usage: { ...usage, input: 3_000 } })
    const { spent, report } = await own.status()
    expect(spent.usage.input).toBe(1_000 + 2_000 + 3_000)
    // The same as for a process that reads the log from its beginning.
    const late = await createPlimsoll({ store }).session({ id: 's' }).status()
    expect([late.spent, late.report]).toEqual([spent, report])
  })

  it('one under a standing epoch decides nothing new, so it does not wait either', async () => {
    const { store, take } = watched()
    const session = createPlimsoll({ store }).session({ id: 's' })
    const seen: string[][] = []
    for (let steps = 1; steps < LARGE; steps++) {
      const { id, epoch, report } = await prepareReadAlong(session, request(steps))
      // What the meter learned is written every five seconds, whatever the request decides.
      const writes = take().filter((write) => write !== 'set calibration')
      if (report.newEpoch !== undefined) expect(writes).toEqual(['claim', 'append'])
      else expect(writes).toEqual([])
      if (epoch !== undefined && report.newEpoch === undefined) seen.push(writes)
      await session.record({ turn: id, usage: { ...usage, input: report.loadAfter } })
      expect(take().filter((write) => write !== 'append' && write !== 'set calibration')).toEqual([])
    }
    expect(seen.length).toBeGreaterThan(10)
  })

  it('what was decided is written before it leaves', async () => {
    const { store, take, records } = watched()
    const session = createPlimsoll({ store }).session({ id: 's' })
    const { report } = await prepareReadAlong(session, request(LARGE))
    expect(report.shortened).toHaveLength(1)
    expect(take()).toContain('append')
    expect(records.some(({ type }) => type === 'edit')).toBe(true)
  })

  it('one that the provider refused is archived all the same', async () => {
    const { store, records } = watched()
    const session = createPlimsoll({ store }).session({ id: 's' })
    const { id } = await prepareReadAlong(session, request(2))
    await session.record({ turn: id, refused: true })
    expect(records.filter(({ type }) => type === 'item-seen')).toHaveLength(7)
  })

  it('two at once on one session archive what they share once, whichever is answered first', async () => {
    const { store, records } = watched()
    const session = createPlimsoll({ store }).session({ id: 's' })
    const [one, two] = [await prepareReadAlong(session, request(2)), await prepareReadAlong(session, request(3))]
    await session.record({ turn: two.id, usage })
    await session.record({ turn: one.id, usage })
    const identities = records.flatMap((record) => (record.type === 'item-seen' ? [record.identity] : []))
    expect(identities).toHaveLength(10)
    expect(new Set(identities).size).toBe(10)
  })

  it('what the meter learned is written now and then, and at the end', async () => {
    const { store, take } = watched()
    const plimsoll = createPlimsoll({ store })
    const session = plimsoll.session({ id: 's' })
    for (let steps = 1; steps <= 20; steps++) {
      const { id } = await prepareReadAlong(session, request(steps))
      await session.record({ turn: id, usage: { ...usage, input: 150 * steps } })
    }
    expect(take().filter((write) => write === 'set calibration')).toEqual([])
    await plimsoll.close()
    expect(take()).toEqual(['set calibration'])
  })
})
