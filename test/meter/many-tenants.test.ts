import { expect, it } from 'vitest'
import { createLedger } from '../../src/meter/index.ts'

const usage = { input: 10, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

it('a ledger of many tenants stays bounded, and none of its calls costs more for the others', () => {
  const ledger = createLedger()
  const record = (i: number): number | undefined =>
    ledger.record({ spender: { tenant: `t${i}`, session: 's' }, model: 'm', purpose: 'turn', usage, at: i })
  const kept: number[] = []
  for (let i = 0; i < 60_000; i++) {
    record(i)
    if (i % 10_000 === 9_999) kept.push(ledger.split('tenant').size)
  }
  // As many at the end as when it was full first.
  expect(kept.at(-1)).toBe(kept[1])
  expect(ledger.totals({ tenant: 't59999', session: 's' }).usage.input).toBe(10)
})
