import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollEvent } from '../../src/index.ts'

const MODEL = 'gpt-5'
const STEPS = 14

const listing = (bytes: number, seed: number): string => {
  let text = ''
  for (let line = 0; text.length < bytes; line++)
    text += `src/module-${(line * 31 + seed * 17) % 997}.ts:${line}: export\n`
  return text
}

/** An agent that reasons, calls four tools at once and gets far more back than its window holds, step after step. */
function* steps(): Generator<readonly object[]> {
  const input: object[] = [{ role: 'user', content: 'Find out why the build is slow.' }]
  for (let step = 0; step < STEPS; step++) {
    yield [...input]
    input.push({ type: 'reasoning', id: `rs_${step}`, summary: [], encrypted_content: 'c2VhbGVk' })
    for (let n = 0; n < 4; n++)
      input.push({ type: 'function_call', call_id: `c${step}_${n}`, name: 'shell', arguments: `{"cmd":"cat ${n}"}` })
    for (let n = 0; n < 4; n++)
      input.push({
        type: 'function_call_output',
        call_id: `c${step}_${n}`,
        output: listing(9_000 * (1 + n), step * 4 + n),
      })
  }
}

describe('steps that each bring more than the window holds', () => {
  it('never end in an error, and never make three epochs in a row', async () => {
    const events: PlimsollEvent[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      secret: new Uint8Array(32).fill(3),
      onEvent: (event) => events.push(event),
    })
    const session = plimsoll.session({ id: 'crowded' })
    let row = 0
    for (const input of steps()) {
      const before = events.length
      const turn = await session.prepare({
        format: 'openai-responses',
        body: { model: MODEL, store: false, instructions: listing(24_000, 99), input, max_output_tokens: 1_024 },
        targets: [{ model: MODEL, window: 32_000 }],
      })
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      const declared = events.slice(before).some(({ type }) => type === 'epoch-declared')
      row = declared ? row + 1 : 0
      expect(row).toBeLessThan(3)
    }
    // Each of them is somewhere: what was shown as a preview can be read in whole.
    for (const event of events) {
      if (event.type !== 'item-offloaded') continue
      expect((await plimsoll.artifacts.read(event.handle as never))?.byteLength).toBe(event.originalBytes)
    }
    await plimsoll.close()
  })
})
