import * as fc from 'fast-check'
import { renderBody, type WireName } from './generators/index.ts'
import type { Script, ScriptCall, ScriptStep, Turn } from './generators/script.ts'

/** An agent's session as it grows: every request that a client would send, each a continuation of the one before. */
export interface GrowingSession {
  readonly wire: WireName
  readonly window: number
  readonly bodies: readonly Record<string, unknown>[]
}

const SIZES = [3, 40, 200, 900, 6_000] as const

function text(seed: number, size: number): string {
  const lines: string[] = []
  for (let i = 0, length = 0; length < size; i++) {
    const line = `${seed}.${i} ${['error in', 'reading', 'wrote', 'value of'][(seed + i) % 4]} src/part-${(seed * 7 + i) % 97}.ts 漢字`
    lines.push(line)
    length += line.length + 1
  }
  return lines.join('\n').slice(0, Math.max(1, size))
}

const call = fc
  .record({ size: fc.constantFrom(...SIZES), seed: fc.nat(9_999), failed: fc.boolean() })
  .map(({ size, seed, failed }): ScriptCall => ({
    name: 'bash',
    args: { command: `run ${seed % 50}` },
    result: text(seed, size),
    picture: false,
    failed,
  }))
const step = fc
  .record({
    reasoning: fc.boolean(),
    said: fc.boolean(),
    calls: fc.array(call, { minLength: 1, maxLength: 3 }),
    seed: fc.nat(999),
  })
  .map(({ reasoning, said, calls, seed }): ScriptStep => ({
    reasoning: reasoning ? `thinking about ${seed}` : undefined,
    text: said ? `Now step ${seed}.` : undefined,
    calls,
    style: seed,
  }))
const turn = fc
  .record({ words: fc.constantFrom(20, 300, 3_000), seed: fc.nat(999), steps: fc.array(step, { maxLength: 5 }) })
  .map(({ words, seed, steps }): Turn => ({
    user: [{ part: 'text', text: `Do ${text(seed, words)}` }],
    steps,
    answer: `Done with ${seed}.`,
    style: seed,
  }))

export const growingSession = (wire: WireName): fc.Arbitrary<GrowingSession> =>
  fc
    .record({
      turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
      window: fc.constantFrom(900, 1_500, 3_000, 8_000),
      style: fc.nat(9_999),
    })
    .map(({ turns, window, style }) => ({ wire, window, bodies: requestsOf(wire, turns, style) }))

/** One request per model call: after each user message, and after each step's results. */
function requestsOf(wire: WireName, turns: readonly Turn[], style: number): Record<string, unknown>[] {
  const bodies: Record<string, unknown>[] = []
  for (const [t, current] of turns.entries()) {
    for (let s = 0; s <= current.steps.length; s++) {
      const open: Turn = { ...current, steps: current.steps.slice(0, s), answer: undefined }
      const script: Script = {
        system: ['You are careful.'],
        tools: ['bash'],
        maxTokens: 100,
        style,
        turns: [...turns.slice(0, t), open],
      }
      bodies.push(renderBody(wire, script))
    }
  }
  return bodies
}
