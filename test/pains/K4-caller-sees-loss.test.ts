import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { plainBody } from './support/plain-bodies.ts'

describe('K4: a caller', () => {
  it.each(WIRES)('learns which items lost bytes on %s, and nothing when none did', async (wire) => {
    const codec = codecOf(wire)
    for (const count of [2, 60]) {
      const steps = Array.from({ length: count }, (_, n) => ({ calls: [{ result: resultText(n, n === 1 ? 9_000 : 500) }] }))
      const body = plainBody(wire, [{ user: 'Go.', steps }])
      const turn = await testEngine().session().prepare({ format: wire, body, targets: [{ model: 'm', window: 7_000 }] })
      const view = new Set(codec.decode(turn.text).items.map((item) => item.text))
      const original = codec.decode(JSON.stringify(body)).items
      const told = new Set([
        ...turn.edits.filter((edit) => edit.op !== 'insert').map((edit) => edit.id),
        ...turn.report.shortened.map(({ itemId }) => itemId),
      ])
      const lost = original.filter((item) => !view.has(item.text)).map((item) => item.id)
      expect(lost.length).toBeGreaterThan(0)
      for (const id of lost) expect(told.has(id), id).toBe(true)
      expect(turn.report.untouched).toBe(false)
    }
    const small = plainBody(wire, [{ user: 'Go.', steps: [] }])
    const whole = await testEngine().session().prepare({ format: wire, body: small, targets: [{ model: 'm', window: 7_000 }] })
    expect(whole).toMatchObject({ edits: [], report: { untouched: true, shortened: [] } })
    expect(whole.epoch).toBeUndefined()
  })
})
