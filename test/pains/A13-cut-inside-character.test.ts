import { describe, expect, it } from 'vitest'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { show } from '../../src/engine/intake/index.ts'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

/** Emoji, a family joined by ZWJ, CJK extension B, combining marks: all more than one UTF-16 unit to a reader's character. */
const MIXED = '👩‍👩‍👧‍👦𠀋🚢e\u0301ñ漢字𝒳'.repeat(60)
const SHAPES = {
  'one line': MIXED,
  lines: MIXED.replaceAll('🚢', '🚢\n'),
  'a JSON string': JSON.stringify({ log: MIXED, rows: [MIXED, MIXED] }),
  'a log': Array.from({ length: 80 }, (_, n) => `2026-11-14T08:15:02Z ERROR ${n} ${MIXED.slice(0, 40)}`).join('\n'),
}

describe('A13: a shortened text', () => {
  it.each(Object.entries(SHAPES))('is well formed at every budget: %s', (_, text) => {
    let shortened = 0
    // One token per UTF-16 unit: the budget walks through every position.
    for (let budgetTokens = 150; budgetTokens < 700; budgetTokens++) {
      const shown = show(text, { budgetTokens, countTokens: (part) => part.length, handle: `art_${'0'.repeat(26)}` })
      expect(shown.text.isWellFormed()).toBe(true)
      // Half a character that was repaired afterwards is lost all the same.
      expect(shown.text).not.toContain('\uFFFD')
      expect(Buffer.from(shown.text).toString()).toBe(shown.text)
      if (shown.truncated) shortened++
    }
    expect(shortened).toBeGreaterThan(400)
  })

  it('leaves a body that a strict parser reads back to the same bytes', async () => {
    const messages = [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: MIXED.repeat(20) }] },
    ]
    for (let window = 3_000; window < 3_060; window += 3) {
      const { text } = await prepareMessages(testEngine().session(), messages, window)
      const bytes = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text))
      expect(JSON.stringify(JSON.parse(bytes))).toBe(text)
      expect(anthropicMessages.check(JSON.parse(text))).toEqual([])
    }
  })
})
