import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { isPlimsollError } from '../../src/core/errors.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { growingSession, type GrowingSession } from '../support/sessions.ts'

const SEED = 20261115
const RUNS = 60
console.log(`seed ${SEED}`)

interface Life {
  readonly session: GrowingSession
  /** Spaces between the values of the client's JSON. */
  readonly indent: number
}

const life = (wire: (typeof WIRES)[number]): fc.Arbitrary<Life> =>
  fc.record({ session: growingSession(wire), indent: fc.constantFrom(0, 0, 2) })

describe('a request that begins as the one before', () => {
  it.each(WIRES)('has the bytes that a process would write that has never seen it: %s', async (wire) => {
    let continued = 0
    await fc.assert(
      fc.asyncProperty(life(wire), async ({ session: { bodies, window }, indent }) => {
        const sessions = memoryStore()
        const artifacts = memoryArtifacts({ secret: Buffer.alloc(32, 7) })
        const old = testEngine({ sessions, artifacts }).session()
        for (const body of bodies) {
          const request = {
            format: wire,
            body: JSON.stringify(body, undefined, indent),
            targets: [{ model: 'm', window }],
          }
          try {
            const turn = await old.prepare(request)
            const again = await testEngine({ sessions, artifacts }).session().prepare(request)
            expect(turn.text).toBe(again.text)
            expect(turn.load.bytes).toBe(Buffer.byteLength(turn.text))
            if (turn.epoch !== undefined && turn.report.newEpoch === undefined) continued++
          } catch (error) {
            if (!isPlimsollError(error, 'fixed-overhead')) throw error
          }
        }
      }),
      { seed: SEED, numRuns: RUNS },
    )
    expect(continued).toBeGreaterThan(RUNS / 4)
  })
})
