import { describe, expect, it } from 'vitest'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { createMeter } from '../../src/meter/index.ts'
import { createPlimsoll } from '../../src/index.ts'
import { ANTHROPIC, MODEL } from './support/loop.ts'

/** A PNG head of this size in pixels, padded to a number of bytes. */
function png(width: number, height: number, bytes: number): string {
  const head = Buffer.alloc(33)
  head.writeUInt32BE(0x89504e47, 0)
  head.writeUInt32BE(0x0d0a1a0a, 4)
  head.writeUInt32BE(13, 8)
  head.write('IHDR', 12, 'latin1')
  head.writeUInt32BE(width, 16)
  head.writeUInt32BE(height, 20)
  return Buffer.concat([head, Buffer.alloc(bytes - 33, 7)]).toString('base64')
}
const body = (pictures: readonly string[]) => ({
  model: MODEL,
  max_tokens: 512,
  messages: [
    {
      role: 'user',
      content: [
        ...pictures.map((data) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } })),
        { type: 'text', text: 'What is this?' },
      ],
    },
  ],
})

describe('H2: pictures', () => {
  const meter = createMeter({ catalogue: bundledCatalogue() })
  const tokens = (pictures: readonly string[]): number => {
    const text = JSON.stringify(body(pictures))
    return meter.measure(MODEL, codecOf(ANTHROPIC).decode(text), text.length).count.tokens
  }

  it('cost by their pixels, not by their bytes, and two cost twice', () => {
    const none = tokens([])
    const small = tokens([png(1_000, 800, 100_000)]) - none
    const large = tokens([png(1_000, 800, 5_000_000)]) - none
    expect(small).toBeGreaterThan(500)
    expect(Math.abs(large / small - 1)).toBeLessThan(0.01)
    expect(
      Math.abs((tokens([png(1_000, 800, 100_000), png(1_000, 800, 90_000)]) - none) / (2 * small) - 1),
    ).toBeLessThan(0.01)
  })

  it('never start a reduction on a first turn', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', secret: Buffer.alloc(32, 1) })
    const turn = await plimsoll.session({ id: 's' }).prepare({
      format: ANTHROPIC,
      body: JSON.stringify(body([png(1_200, 900, 3_000_000)])),
      targets: [{ model: MODEL, window: 32_000 }],
    })
    expect(turn.report.untouched).toBe(true)
    await plimsoll.close()
  })
})
