import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollEvent } from '../../src/index.ts'

const MODEL = 'gemini-2.5-pro'
const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, n) => `w${(n * 31 + seed * 17) % 997}`).join(' ')

interface Part {
  readonly text?: string
}

describe('what is new when two epochs in a row did not help', () => {
  it('is shown as preview + handle before its first send, instead of a third epoch or an error', async () => {
    const events: PlimsollEvent[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      secret: new Uint8Array(32).fill(9),
      onEvent: (event) => events.push(event),
    })
    const session = plimsoll.session({ id: 'full' })
    const contents: { role: string; parts: Part[] }[] = []
    const bodies: string[] = []
    for (let turn = 0; turn < 9; turn++) {
      // Each message alone nearly fills what the instructions leave.
      contents.push({ role: 'user', parts: [{ text: words(700, turn) }] })
      const prepared = await session.prepare({
        format: 'gemini',
        body: {
          systemInstruction: { parts: [{ text: words(1_000, 99) }] },
          contents,
          generationConfig: { maxOutputTokens: 256 },
        },
        targets: [{ model: MODEL, window: 6_000 }],
      })
      expect(prepared.load.count.high).toBeLessThanOrEqual(prepared.limit.tokens)
      bodies.push(prepared.text)
      await session.record({
        turn: prepared.id,
        usage: { input: prepared.load.count.tokens, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      })
      contents.push({ role: 'model', parts: [{ text: 'noted' }] })
    }
    const epochs = events.filter(({ type }) => type === 'epoch-declared').length
    const offloaded = events.filter(({ type }) => type === 'item-offloaded')
    expect(epochs).toBeGreaterThan(0)
    expect(offloaded.length).toBeGreaterThan(0)
    for (const event of offloaded) {
      if (event.type !== 'item-offloaded') continue
      const bytes = await plimsoll.artifacts.read(event.handle as never)
      expect(contents.some(({ parts }) => parts[0]!.text === Buffer.from(bytes!).toString())).toBe(true)
    }
    await plimsoll.close()
  })
})
