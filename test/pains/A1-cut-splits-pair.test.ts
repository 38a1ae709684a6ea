import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { turnsOf } from '../../src/core/turns.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { asyncProperty, SEED } from '../support/property.ts'
import { growingSession } from '../support/sessions.ts'

const RUNS = 25 * Number(process.env['PLIMSOLL_LONG'] ?? 1)

describe('A1: a cut never splits a call from its result', () => {
  it.each(WIRES)(`on %s, for any history and budget (seed ${SEED})`, async (wire) => {
    const codec = codecOf(wire)
    let reduced = 0
    await asyncProperty(
      growingSession(wire),
      async ({ bodies, window }) => {
        const session = testEngine().session()
        for (const body of bodies) {
          const before = new Set(codec.check(body).map(({ rule }) => rule))
          try {
            const turn = await session.prepare({ format: wire, body, targets: [{ model: 'm', window }] })
            if (turn.edits.length > 0) reduced++
            expect(codec.check(JSON.parse(turn.text)).filter(({ rule }) => !before.has(rule))).toEqual([])
            const { orphans, pending, answers } = turnsOf(codec.decode(turn.text).items)
            expect({ orphans, pending }).toEqual({ orphans: [], pending: [] })
            expect(new Set(answers.values()).size).toBe(answers.size)
          } catch (error) {
            if (!isPlimsollError(error, 'fixed-overhead')) throw error
          }
        }
      },
      RUNS,
    )
    expect(reduced).toBeGreaterThan(15)
  })
})
