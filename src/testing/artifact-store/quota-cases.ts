import assert from 'node:assert/strict'
import { isPlimsollError } from '../../core/errors.ts'
import { QUOTA_BYTES, randomBytes, rejectsWith, type Body } from './subject.ts'

/** How much one tenant may hold. */
export const quotaCases: Record<string, Body> = {
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
