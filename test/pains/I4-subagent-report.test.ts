import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'

describe('I4: a report of a sub-agent', () => {
  it('of two hundred thousand tokens reaches its parent as head, tail and handle within the cap', async () => {
    const { session, deps } = testEngine()
    const parent = session()
    const { limit } = await runLoop(parent, { to: 1 })
    const report = `SUMMARY FIRST\n${resultText(1, 800_000)}\nCONCLUSION LAST`
    const shown = await parent.toolResult({ tool: 'task', output: report })
    expect(shown).toMatchObject({ truncated: true, originalBytes: Buffer.byteLength(report) })
    expect(shown.text.length / 4).toBeLessThanOrEqual(deps.policy.intake.maxShare * limit.tokens)
    expect(shown.text).toContain('SUMMARY FIRST')
    expect(shown.text).toContain('CONCLUSION LAST')
    expect(shown.text).toContain(shown.artifact)
    expect(Buffer.from((await deps.artifacts.read('local', shown.artifact!))!).toString() === report).toBe(true)
  })
})
