import { chmod, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { sqliteEvents } from '../../src/drivers/events/sqlite.ts'
import { withFolder } from './support/temporary.ts'

const event = (message: string): PlimsollEvent => ({
  type: 'warning',
  topic: 'test',
  message,
  at: 1,
  tenant: 't',
  session: 's',
})

/** Waits for a poll; the test's own time limit is the only clock. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('sqlite: live events', () => {
  it('shows every subscriber the events of all in their order, and whose they are', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'events')
      const buses = [1, 2].map(() => sqliteEvents({ path, pollMs: 5 }))
      buses[0]!.publish(event('before anybody listened'))
      await buses[0]!.flush()
      const heard = buses.map((bus) => {
        const messages: string[] = []
        bus.subscribe((seen, sender) => seen.type === 'warning' && messages.push(`${sender}: ${seen.message}`))
        return messages
      })
      const sent = ['one', `größe 😀 ${'ü'.repeat(20_000)}`, '"quoted" \\ \u2028']
      for (const message of sent) buses[0]!.publish(event(message))
      await buses[0]!.flush()
      buses[1]!.publish(event('back'))
      await until(() => heard.every((messages) => messages.length === 4))
      const [a, b] = buses.map(({ sender }) => sender)
      expect(a).not.toBe(b)
      const expected = [...sent.map((message) => `${a}: ${message}`), `${b}: back`]
      expect(heard).toEqual([expected, expected])
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      await Promise.all(buses.map((bus) => bus.close()))
    })
  })

  it('never throws: what cannot be written is given up and told', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'events')
      await mkdir(path)
      await chmod(path, 0o500)
      const troubles: unknown[] = []
      const bus = sqliteEvents({ path, onTrouble: (error) => troubles.push(error) })
      bus.subscribe(() => undefined)
      bus.publish(event('lost'))
      await bus.flush()
      await bus.close()
      expect(troubles.length).toBeGreaterThan(0)
    })
  })
})
