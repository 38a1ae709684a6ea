import { describe, expect, it } from 'vitest'

import { visitIdentifiers } from '../../src/core/quotes.ts'

/** Distinct identifiers in order of appearance. */
function named(text: string): string[] {
  const names = new Set<string>()
  visitIdentifiers(text, (name, kind) => names.add(`${kind} ${name}`))
  return [...names]
}

describe('visitIdentifiers', () => {
  it.each([
    ['See src/core/turns.ts:42:7, please.', ['path src/core/turns.ts']],
    ['/etc/hosts and ~/notes.md and ./run', ['path /etc/hosts', 'path ~/notes.md', 'path ./run']],
    ['open package.json.', ['path package.json']],
    ['https://example.org/a/b?q=1', ['path https://example.org/a/b']],
    ['call readSource(text) in parse_args', ['symbol readSource', 'symbol parse_args']],
    ['fmt.Errorf and Recall::total', ['symbol fmt.Errorf', 'symbol Recall::total']],
    [
      'commit 56ff1c2 of 019eef3d-abd1-72e1-ab99-dcdb259027c5',
      ['hash 56ff1c2', 'hash 019eef3d-abd1-72e1-ab99-dcdb259027c5'],
    ],
    ['port 4141, 12 retries, 10.0.0.17', ['number 4141', 'number 10.0.0.17']],
    ['ENOENT, TS2345 and CVE-2024-3094', ['code ENOENT', 'code TS2345', 'code CVE-2024-3094']],
    ['pod payment-service-7f9c', ['symbol payment-service-7f9c']],
  ])('reads %j', (text, expected) => {
    expect(named(text)).toEqual(expected)
  })

  it('finds nothing in prose', () => {
    expect(named('A well-known way to read and/or write. The end, e.g. of a long story: none.')).toEqual([])
  })

  it('gives each name once, in order', () => {
    expect(named('foo_bar a.ts foo_bar')).toEqual(['symbol foo_bar', 'path a.ts'])
  })

  it('stays linear on a million characters without a separator', () => {
    expect(named('a'.repeat(1_000_000))).toEqual([])
    expect(named('a-'.repeat(500_000)).length).toBeLessThanOrEqual(1)
    expect(named('a.'.repeat(500_000)).length).toBeLessThanOrEqual(1)
    expect(named('a1'.repeat(500_000)).length).toBeLessThanOrEqual(1)
    expect(named('12:'.repeat(500_000)).length).toBeLessThanOrEqual(1)
  })
})
