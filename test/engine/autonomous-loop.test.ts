import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { lowWater } from '../../src/engine/epoch/thresholds.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'
import { renderBody, WIRES } from '../support/generators/index.ts'
import type { ScriptCall, ScriptStep } from '../support/generators/script.ts'

const CALLS = 2_000
const PARALLEL = 4
/** The request holds its whole history: what the provider holds (`previous_response_id`, `conversation`) is never folded. */
const STATELESS = 7 ** 2 + 7 ** 3

const call = (n: number): ScriptCall => ({
  name: 'bash',
  args: { command: `check host-${n}` },
  result: `host-${n}: ${n % 7 === 0 ? 'error: disk full' : 'ok'}\n${`line ${n} of its log\n`.repeat(5 + (n % 11))}`,
  picture: false,
  failed: false,
})

/** One message of a person, and then nobody but the agent. */
function loop(wire: (typeof WIRES)[number]): Record<string, unknown> {
  const steps = Array.from({ length: CALLS / PARALLEL }, (_, s): ScriptStep => ({
    reasoning: undefined,
    text: undefined,
    calls: Array.from({ length: PARALLEL }, (_unused, c) => call(s * PARALLEL + c)),
    style: 0,
  }))
  return renderBody(wire, {
    system: ['You look after hosts.'],
    tools: ['bash'],
    maxTokens: 1_000,
    style: STATELESS,
    turns: [{ user: [{ part: 'text', text: 'Check all hosts.' }], steps, answer: undefined, style: 0 }],
  })
}

describe.each(WIRES)('an autonomous loop of 2,000 parallel calls on %s', (wire) => {
  it('is cut to fill what it may, without a call or result that lost its other half', async () => {
    const { session } = testEngine()
    const body = loop(wire)
    const codec = codecOf(wire)
    const broken = new Set(codec.check(body).map(({ rule }) => rule))
    const turn = await session().prepare({ format: wire, body, targets: [{ model: 'm', window: 64_000 }] })
    const target = lowWater(policyNamed('plimsoll'), turn.limit)
    expect(turn.report.loadBefore).toBeGreaterThan(turn.limit.tokens)
    expect(turn.load.count.high / target).toBeGreaterThanOrEqual(0.9)
    expect(turn.load.count.high / target).toBeLessThanOrEqual(1)
    expect(codec.check(JSON.parse(turn.text)).filter(({ rule }) => !broken.has(rule))).toEqual([])
    expect(turn.text.includes('Check all hosts.')).toBe(true)
  })
})
