import { expect, it } from 'vitest'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createMeter } from '../../src/meter/index.ts'

it('counts a text again for another tenant, so that no time tells who has sent it', () => {
  let counted = 0
  const tokenizer = {
    name: 'counting',
    count(text: string) {
      counted += 1
      return { tokens: text.length, low: text.length, high: text.length, source: 'exact' as const }
    },
  }
  const meter = createMeter({ catalogue: bundledCatalogue(), tokenizerFor: () => tokenizer })
  const text = 'The merger is on the ninth of May. '.repeat(50)
  const count = (owner: string): number => {
    const before = counted
    meter.countText({ model: 'gpt-4o', owner }, text)
    return counted - before
  }
  expect([count('a'), count('a'), count('b'), count('b')]).toEqual([1, 0, 1, 0])
})
