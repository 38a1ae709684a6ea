import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../src/engine/redaction/redactor.ts'

/*
 * Each pattern is bounded, but a bound of hundreds is read again from every place where the pattern may begin: text that begins one at each
 * character is hundreds of times slower than text.
 */
const UNITS = [
  '*',
  '-',
  '.',
  ':',
  '*:',
  'a:',
  'a.',
  'A_',
  'eyJ',
  'eyJ-',
  'curl ',
  'curl -u ',
  'curl -u a',
  'http ',
  'mysql ',
  'mysql -p',
  'login ',
  'login a ',
  '://',
  'a://b:',
  '?token=',
  'token=',
  'password=',
  '\npassword: ',
  '\n -',
  'bearer ',
  'authorization: ',
  'Cookie: ',
  '--token ',
  '-----BEGIN PRIVATE KEY-----',
  'abcdef0123',
  'M',
  'dp.',
  '1234567890:AA',
  '"',
  '\\"',
  '{"a":"',
  '[redacted:',
]
const CHARACTERS = 100_000

const redact = createRedactor({ environment: false })

function msOf(unit: string): number {
  const text = unit.repeat(Math.ceil(CHARACTERS / unit.length))
  let best = Infinity
  for (let i = 0; i < 3; i++) {
    const startedAt = performance.now()
    redact(text)
    best = Math.min(best, performance.now() - startedAt)
  }
  return best
}

describe('what only looks like the beginning of a secret', () => {
  const prose = msOf('The berth was taken, so the pilot waited for the tide. ')

  it.each(UNITS)('takes no longer than some passes over prose: %j', (unit) => {
    expect(msOf(unit) / prose).toBeLessThan(60)
  })
})
