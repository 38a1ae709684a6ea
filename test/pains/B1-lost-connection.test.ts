import { it } from 'vitest'
import { PlimsollError } from '../../src/core/errors.ts'
import { expectNothingLost } from './support/failing-store.ts'

/** The engine goes on without the store; what it decided meanwhile is written down before another process can ask. */
const FAULT = new PlimsollError('store-unavailable', 'The connection was reset.', { retryable: true })

it('B1: a compaction during which the connection to the store is lost, at any of its steps, loses nothing, and the session goes on', async () => {
  await expectNothingLost(FAULT, async (prepare, engine) => {
    await prepare()
    return engine.events.some(({ type }) => type === 'degraded')
  })
})
