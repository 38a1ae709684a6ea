import { describe, expect, it } from 'vitest'
import { PlimsollError, type ErrorCode } from '../../src/core/errors.ts'
import { fateOf } from '../../src/lab/replay/replay.ts'

describe('a replayed call that ends in an error', () => {
  it.each<[ErrorCode, string]>([
    ['overflow', 'refused'],
    ['fixed-overhead', 'refused'],
    ['limit-not-positive', 'refused'],
    ['budget-exceeded', 'refused'],
    ['invalid-request', 'invalid'],
    ['corrupt', 'died'],
    ['store-unavailable', 'died'],
    ['timeout', 'died'],
  ])('%s: %s', (code, fate) => expect(fateOf(new PlimsollError(code, 'x'))).toBe(fate))
})
