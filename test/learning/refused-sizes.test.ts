import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { PLAIN_WIRES, type Turn } from '../gateway/plain-wires.ts'
import { words } from './words.ts'

const WINDOW = 24_000
/** No estimate gives a line break a third of a token each; this provider does. */
const BREAKS = '\n'.repeat(60_000)

/** What this provider counts: a little more than four characters to a token, and every line break of a long run. */
const countOf = (text: string): number => {
  const breaks = text.split('\\n').length - 1
  return Math.round((text.length - 2 * breaks) / 3.9 + breaks / 3)
}

const open = () => createPlimsoll({ store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1), tools: false })

interface Run {
  readonly reportsUsage: boolean
  readonly model?: string
  readonly steps?: number
  readonly countOf: (text: string) => number
  readonly resultOf: (step: number) => string
}

async function run(format: keyof typeof PLAIN_WIRES, options: Run) {
  const { reportsUsage, model = 'claude-sonnet-4-5', steps = 40, countOf, resultOf } = options
  const { request } = PLAIN_WIRES[format]
  const plimsoll = open()
  const session = plimsoll.session({ id: 's' })
  const turns: Turn[] = [{ user: 'Read everything.' }]
  const limits = new Set<number>()
  let refused = 0
  try {
    for (let step = 0; step < steps; step++) {
      for (let tries = 0; ; tries++) {
        expect(tries, `step ${step}`).toBeLessThan(2)
        const body = JSON.stringify(request(turns))
        const turn = await session.prepare({ format, body, targets: [{ model, window: WINDOW }] })
        limits.add(turn.limit.tokens)
        const counted = countOf(turn.text)
        const isTaken = counted <= WINDOW - turn.limit.outputReserve
        const usage = { input: counted, output: 40, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
        const told = reportsUsage ? { usage } : {}
        await session.record({ turn: turn.id, ...(isTaken ? told : { refused: true, counted }) })
        if (isTaken) break
        refused++
      }
      turns.push({ id: `call_${step}`, result: resultOf(step) })
    }
    return { limits, refused }
  } finally {
    await plimsoll.close()
  }
}

describe('a result that a provider counts far higher than we', () => {
  it.each(Object.keys(PLAIN_WIRES) as (keyof typeof PLAIN_WIRES)[])(
    '%s: is one refusal, is made to fit, and leaves the limit as it was',
    async (format) => {
      for (const reportsUsage of [true, false]) {
        const { limits, refused } = await run(format, {
          reportsUsage,
          countOf,
          // The eighth brings far more than anybody would estimate.
          resultOf: (step) => (step === 7 ? BREAKS : words(step, 3_000)),
        })
        expect(refused).toBe(1)
        expect(limits.size).toBe(1)
      }
    },
  )
})

describe('a provider that counts all text higher than we, and reports no usage', () => {
  it.each(Object.keys(PLAIN_WIRES) as (keyof typeof PLAIN_WIRES)[])(
    '%s: refuses one request of a conversation, however often that is compacted',
    async (format) => {
      // Of these words the public vocabulary makes a token out of every five characters.
      const { refused } = await run(format, {
        reportsUsage: false,
        model: 'gpt-4o',
        steps: 120,
        countOf: (text) => Math.round(text.length / 3.8),
        resultOf: (step) => words(step, 3_000),
      })
      expect(refused).toBe(1)
    },
  )
})

describe('a file by its id', () => {
  it('takes what the usage behind it said, at the next compaction as well', async () => {
    const plimsoll = open()
    try {
      const session = plimsoll.session({ id: 's' })
      const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } }
      const messages: object[] = [
        { role: 'user', content: [file, { type: 'text', text: 'Read it, then everything.' }] },
      ]
      const misses: number[] = []
      let compactions = 0
      for (let step = 0; step < 40; step++) {
        const body = JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 1_000, messages })
        const targets = [{ model: 'claude-sonnet-4-5', window: 64_000 }]
        const turn = await session.prepare({ format: 'anthropic-messages', body, targets })
        const input = countOf(turn.text) + (turn.text.includes('file_1') ? 31_000 : 0)
        if (turn.report.newEpoch !== undefined) {
          compactions++
          misses.push(Math.abs(turn.load.count.tokens - input) / input)
        }
        const usage = { input, output: 40, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
        await session.record({ turn: turn.id, usage })
        messages.push(
          { role: 'assistant', content: [{ type: 'tool_use', id: `c${step}`, name: 'read', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${step}`, content: words(step, 8_000) }] },
        )
      }
      expect(compactions).toBeGreaterThan(1)
      for (const miss of misses) expect(miss).toBeLessThan(0.15)
    } finally {
      await plimsoll.close()
    }
  })
})
