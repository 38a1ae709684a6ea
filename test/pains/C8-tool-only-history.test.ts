import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { plainBody } from './support/plain-bodies.ts'

const steps = Array.from({ length: 200 }, (_, n) => ({
  calls: [{ name: 'read', args: { n }, result: resultText(n, 400) }],
}))

describe('C8: one user message and two hundred tool steps', () => {
  it.each(WIRES)('fall below three tenths and stay valid on %s', async (wire) => {
    const body = plainBody(wire, [{ user: 'Read everything.', steps }])
    const turn = await testEngine()
      .session()
      .prepare({ format: wire, body, targets: [{ model: 'm', window: 8_000 }] })
    expect(turn.load.count.high).toBeLessThan(0.3 * turn.report.loadOriginal)
    expect(codecOf(wire).check(JSON.parse(turn.text))).toEqual([])
    expect(turn.text).toContain('Read everything.')
  })
})
