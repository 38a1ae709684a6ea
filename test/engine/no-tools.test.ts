import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { PLAIN_WIRES, type Turn } from '../gateway/plain-wires.ts'
import { words } from '../learning/words.ts'

const WINDOW = 16_000
/** How every handle begins. */
const HANDLE = /\bart_[0-9a-z]{6,}/

describe('a request that can take no tools', () => {
  it.each(Object.keys(PLAIN_WIRES) as (keyof typeof PLAIN_WIRES)[])(
    '%s: is never told of a handle that it cannot open, however long it lasts',
    async (format) => {
      const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1) })
      const session = plimsoll.session({ id: 's' })
      const turns: Turn[] = [{ user: `Write ${words(0, 100)}` }]
      let compactions = 0
      try {
        for (let step = 1; step <= 80; step++) {
          const { tools: _, toolConfig: __, ...plain } = PLAIN_WIRES[format].request(turns) as Record<string, unknown>
          const body = JSON.stringify(format === 'openai-chat' ? { ...plain, n: 3 } : plain)
          const turn = await session.prepare({ format, body, targets: [{ model: 'gpt-4o', window: WINDOW }] })
          if (turn.report.newEpoch !== undefined) compactions++
          expect(HANDLE.exec(turn.text)?.[0], `step ${step}`).toBeUndefined()
          turns.push(
            { assistant: `Version ${step}: ${words(step, 900)}` },
            { user: `Wish ${step}: ${words(-step, 900)}` },
          )
        }
      } finally {
        await plimsoll.close()
      }
      expect(compactions).toBeGreaterThan(1)
    },
  )
})
