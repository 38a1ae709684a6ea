import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { liveEvents } from '../../src/drivers/live-events.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { sqliteStore } from '../../src/drivers/sessions/sqlite/index.ts'
import { withFolder } from './support/temporary.ts'

const event = (message: string): PlimsollEvent => ({
  type: 'warning',
  topic: 'test',
  message,
  at: 1,
  tenant: 't',
  session: 's',
})

/** Waits for a round; the test's own time limit is the only clock. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const messageOf = (seen: PlimsollEvent): string => (seen.type === 'warning' ? seen.message : seen.type)

describe('live events of processes on one store', () => {
  it('are heard by all others in their order, from the moment that they listen', async () => {
    await withFolder(async (folder) => {
      const stores = [1, 2].map(() => sqliteStore({ path: join(folder, 'store.db') }))
      const early = liveEvents(stores[0]!, () => undefined)
      early.publish(event('before anybody listened'))
      await early.close()
      const heard: string[][] = [[], []]
      const all = stores.map((store, i) => liveEvents(store, (seen) => heard[i]!.push(messageOf(seen))))
      await Promise.all(stores.map((store) => store.version('t', 's')))
      const sent = ['one', `größe 😀 ${'ü'.repeat(20_000)}`, '"quoted" \\ \u2028']
      for (const message of sent) all[0]!.publish(event(message))
      await until(() => heard[1]!.length === sent.length)
      all[1]!.publish(event('back'))
      await until(() => heard[0]!.length === 1)
      expect(heard).toEqual([['back'], sent])
      await Promise.all([...all, ...stores].map((one) => one.close()))
    })
  })

  it('are heard again after their log began anew', async () => {
    const store = { ...memoryStore(), name: 'shared' }
    const heard: string[] = []
    const [mine, theirs] = [
      liveEvents(store, () => undefined),
      liveEvents(store, (seen) => heard.push(messageOf(seen))),
    ]
    mine.publish(event('one'))
    await until(() => heard.length === 1)
    const [tenant] = await store.tenants()
    expect(await store.remove(tenant!, 'live-events')).toBe(true)
    await until(() => {
      mine.publish(event('again'))
      return heard.includes('again')
    })
    await Promise.all([mine.close(), theirs.close()])
  })

  it('are given up and told where they cannot be sent', async () => {
    const troubles: unknown[] = []
    const store = { ...memoryStore(), name: 'away', append: () => Promise.reject(new Error('away')) }
    const events = liveEvents(
      store,
      () => undefined,
      (error) => troubles.push(error),
    )
    events.publish(event('lost'))
    await events.close()
    expect(troubles).toHaveLength(1)
  })
})
