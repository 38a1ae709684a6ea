import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { show, type Shown } from '../../src/engine/intake/index.ts'
import { corpusFiles, countTokens, HANDLE, options, toolResults } from './helpers.ts'

const BUDGETS = [60, 300, 2_000]
const files = corpusFiles()
const results = toolResults()

function check(name: string, input: string | Uint8Array, budget: number): Shown {
  const shown = show(input, options(budget))
  const where = `${name} at ${budget}`
  expect(countTokens(shown.text), where).toBeLessThanOrEqual(budget)
  expect(shown.tokens, where).toBe(countTokens(shown.text))
  expect(/\p{Surrogate}/u.test(shown.text), `${where}: lone surrogate`).toBe(false)
  if (shown.mime === 'application/json') expect(() => JSON.parse(shown.text) as unknown, where).not.toThrow()
  if (shown.truncated) {
    expect(handlesIn(shown.text), where).toEqual([HANDLE])
    expect(shown.shown.bytes, where).toBeLessThan(shown.original.bytes)
    expect(shown.report.large_payload_handled, where).toBe(true)
  }
  return shown
}

describe('views of real tool outputs', () => {
  it.each(BUDGETS)('stay valid and within %i tokens for every file', (budget) => {
    let ran = 0
    for (const { name, read } of files) {
      const bytes = read()
      const shown = check(name, bytes, budget)
      if (shown.truncated && /\.json(?:\.gz)?$/.test(name)) expect(shown.mime, name).toBe('application/json')
      if (shown.truncated) expect(shown.text, name).toContain(shown.original.bytes.toLocaleString('en-US'))
      ran++
    }
    expect(ran).toBeGreaterThanOrEqual(110)
  })

  it.each(BUDGETS)('stay valid and within %i tokens for every recorded tool call', (budget) => {
    for (const [i, { kind, output }] of results.entries()) check(`${kind} ${i}`, output, budget)
    expect(results.length).toBeGreaterThanOrEqual(350)
  })

  it('keep the exit status that a command runner wrote, wherever it stands', () => {
    let ran = 0
    for (const { kind, output } of results) {
      const status = /^(?:Exit code \d+|Process exited with code \d+)$/m.exec(output)?.[0]
      if (status === undefined) continue
      const shown = show(output, options(400))
      expect(shown.text, `${kind}: ${status}`).toContain(status)
      ran++
    }
    expect(ran).toBeGreaterThanOrEqual(50)
  })

  it.each([
    [
      'logs/holmes-51-errors',
      [
        /178x .*Failed to retrieve sessions/,
        /156x .*Identity provider certificate expired/,
        /166x .*syntax error/,
        /168x .*unique constraint/,
      ],
    ],
    ['logs/holmes-52-login-pod', [/1,994x Auth event: login_failed/, /2,004x Auth event: login_success/]],
    ['logs/holmes-35-tempo-fraud', [/responseTime: .*p95 6753/]],
    ['metrics/holmes-158-prometheus', [/2025-08-23|"anomalies":\[\{"value":1\.887,"time":"1757333813"/]],
  ])('keep what the recorded question about %s needs', (prefix, needed) => {
    for (const { name, read } of files.filter((file) => file.name.startsWith(prefix))) {
      const shown = show(read(), options(1_200))
      for (const fact of needed) expect(shown.text, name).toMatch(fact)
    }
  })

  it('use at least half of a budget that is too small for the content', () => {
    const wasteful: string[] = []
    for (const { name, read } of files) {
      const shown = show(read(), options(1_000))
      // A page may be mostly markup: then its whole text is there, in few tokens.
      if (shown.text.includes('Left out: 0 of')) continue
      if (shown.truncated && shown.tokens < 500) wasteful.push(`${name} ${shown.kind} ${shown.tokens}`)
    }
    expect(wasteful).toEqual([])
  })
})
