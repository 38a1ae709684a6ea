import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

const action = fc.record({
  do: fc.constantFrom('step', 'step', 'step', 'compact', 'undo', 'rewind'),
  size: fc.integer({ min: 10, max: 6_000 }),
})

describe('A2: signed thinking of the latest assistant turn', () => {
  it(`leaves byte for byte as it came, whatever is folded (seed ${SEED})`, async () => {
    let epochs = 0
    await asyncProperty(
      fc.array(action, { minLength: 10, maxLength: 40 }),
      async (actions) => {
        const engine = testEngine()
        const session = engine.session()
        const sizes: number[] = []
        for (const { do: what, size } of actions) {
          if (what === 'compact') await session.compact()
          else if (what === 'undo') await session.undo()
          else if (what === 'rewind') sizes.pop()
          else sizes.push(size)
          const body = toolLoop({ steps: sizes.length, resultLength: (step) => sizes[step - 1]!, thinking: true })
          const turn = await session.prepare({ format: ANTHROPIC, body, targets: targets(6_000) })
          const sent = (JSON.parse(turn.text) as typeof body).messages
          const latest = body.messages.findLast((message) => message.role === 'assistant')
          const latestSent = sent.findLast((message) => message.role === 'assistant')
          expect(JSON.stringify(latestSent)).toBe(JSON.stringify(latest))
          // Older turns keep all of their thinking or leave whole.
          for (const message of sent) {
            if (message.role === 'assistant') expect(body.messages).toContainEqual(message)
          }
        }
        epochs += engine.events.filter((event) => event.type === 'epoch-declared').length
      },
      25,
    )
    expect(epochs).toBeGreaterThan(25)
  })
})
