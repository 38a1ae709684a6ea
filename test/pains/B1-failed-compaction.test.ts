import { it } from 'vitest'
import { PlimsollError } from '../../src/core/errors.ts'
import { expectNothingLost } from './support/failing-store.ts'

it.each([
  ['a full disk', Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })],
  ['a time-out', new PlimsollError('timeout', 'The store did not answer.')],
])('B1: a compaction that fails by %s at any of its steps loses nothing, and the session goes on', async (_, fault) => {
  await expectNothingLost(
    fault,
    async (prepare) =>
      await prepare().then(
        () => false,
        (error: unknown) => error === fault,
      ),
  )
})
