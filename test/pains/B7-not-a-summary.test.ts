import { describe, expect, it } from 'vitest'
import type { SummaryAnswer } from '../../src/ports/summarizer.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, summarisingEngine } from './support/summarizer.ts'

const MARK = 'BAD-SUMMARY-0815'
const BAD: Record<string, SummaryAnswer> = {
  empty: { text: '', stop: 'end' },
  'white space': { text: ' \n\t ', stop: 'end' },
  'a refusal': { text: `${MARK} I cannot help with that.`, stop: 'refusal' },
  'a tool call': { text: MARK, stop: 'tool-use', toolCalls: 1 },
  'a tool call that stops naturally': { text: MARK, stop: 'end', toolCalls: 2 },
  'cut at the limit': { text: MARK, stop: 'length' },
  paused: { text: MARK, stop: 'pause' },
  'an error text': { text: MARK, stop: 'error' },
  'an unknown stop': { text: MARK, stop: 'unknown' },
  'longer than its source': { text: `${MARK} and so on `.repeat(20_000), stop: 'end' },
}

describe('B7: an answer that is no summary', () => {
  it.each(Object.entries(BAD))('(%s) is not committed, says why, and code writes instead', async (_, answer) => {
    const { agent, events, deps } = summarisingEngine(fakeSummarizer(() => answer))
    const turn = await runLoop(agent, { to: 60 })
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(turn.epoch).toBeDefined()
    const reasons = events.flatMap((event) => (event.type === 'summary-rejected' ? [event.reason] : []))
    expect(reasons.length).toBeGreaterThan(0)
    expect(turn.text).not.toContain(MARK)
    for await (const { record } of deps.sessions.read('local', 'test'))
      if (record.type === 'epoch') expect(JSON.stringify(record)).not.toContain(MARK)
    const [summary] = turn.edits.flatMap((edit) => (edit.op === 'insert' ? [edit.text] : []))
    expect(summary!.length).toBeGreaterThan(100)
  })
})
