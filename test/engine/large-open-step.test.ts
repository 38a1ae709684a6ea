import { describe, expect, it } from 'vitest'
import { inJson } from '../pains/support/loop.ts'
import { plainBody, type PlainTurn } from '../pains/support/plain-bodies.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'

const WINDOW = 16_000
const FINDINGS = Array.from({ length: 12 }, (_, n) => `Finding ${n}: the lock of shard ${n} is taken twice in a row.`)

/** A step whose results together take `tokens`, with four characters to a token. */
const stepOf = (tokens: number, n: number, text?: string, calls = 4): PlainTurn['steps'][number] => ({
  ...(text !== undefined && { text }),
  calls: Array.from({ length: calls }, (_, call) => ({
    args: { command: `cat part-${n}-${call}` },
    result: resultText(n * 10 + call, tokens),
  })),
})

describe.each(WIRES)('a compaction beside a step that brings much at once, on %s', (wire) => {
  const prepare = (task: string, openTokens: number, openCalls = 4) => {
    const steps = [...FINDINGS.map((text, n) => stepOf(1_200, n, text)), stepOf(openTokens, 90, undefined, openCalls)]
    return testEngine()
      .session()
      .prepare({
        format: wire,
        body: JSON.stringify(plainBody(wire, [{ user: task, steps }])),
        targets: [{ model: 'm', window: WINDOW }],
      })
  }

  it('still tells what was said before', async () => {
    const turn = await prepare('Find out why it hangs.', 11_000)
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    for (const finding of FINDINGS) expect(turn.text).toContain(finding)
  })

  it.each([
    { lines: 50, calls: 4 },
    { lines: 300, calls: 12 },
    { lines: 360, calls: 12 },
    { lines: 440, calls: 10 },
  ])('shows the results of $calls calls shorter before it cuts a task of $lines lines', async ({ lines, calls }) => {
    const task = Array.from({ length: lines }, (_, n) => `Rule ${n}: no request of shard ${n} waits for another one.`)
    const turn = await prepare(task.join('\n'), 20_000, calls)
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(turn.text).toContain(inJson(task.join('\n')))
  })

  it('keeps a long task whole behind long instructions, request by request', async () => {
    // Of 15,580 tokens the instructions take 7,000 and the task two thirds of what they leave.
    const system = 'Answer in whole sentences. '.repeat(1_037)
    const rules = Array.from({ length: 420 }, (_, n) => `Rule ${n}: no request of shard ${n} waits for another one.`)
    const task = rules.join('\n')
    const session = testEngine().session()
    let compactions = 0
    for (let count = 1; count <= 12; count++) {
      const steps = FINDINGS.slice(0, count).map((text, n) => stepOf(n % 3 === 0 ? 4_000 : 1_000, n, text, 3))
      const turn = await session.prepare({
        format: wire,
        body: JSON.stringify(plainBody(wire, [{ user: task, steps }], system)),
        targets: [{ model: 'm', window: WINDOW }],
      })
      if (turn.report.newEpoch !== undefined) compactions++
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      expect(turn.text).toContain(inJson(task))
      // What was found stays as long as it is as short as this.
      for (const finding of FINDINGS.slice(0, count)) expect(turn.text).toContain(finding)
    }
    expect(compactions).toBeGreaterThan(2)
  })
})
