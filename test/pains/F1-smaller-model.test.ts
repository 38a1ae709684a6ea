import { describe, expect, it } from 'vitest'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, summarisingEngine } from './support/summarizer.ts'

describe('F1: a switch to a smaller model', () => {
  it.each(['no model at all', 'the old model offline'])(
    'fits on the first request, with %s to summarise',
    async (which) => {
      const offline = fakeSummarizer(() => Promise.reject(new Error('connect ECONNREFUSED')))
      const agent = which === 'no model at all' ? testEngine().session() : summarisingEngine(offline).agent
      const grown = await runLoop(agent, { from: 250, to: 250, resultLength: 4_700, window: 1_000_000 })
      expect(grown.report.untouched).toBe(true)
      expect(grown.load.count.high).toBeGreaterThan(290_000)
      const small = await runLoop(agent, { from: 250, to: 250, resultLength: 4_700, window: 32_000 })
      expect(small.load.count.high + small.limit.outputReserve).toBeLessThanOrEqual(32_000)
      expect(anthropicMessages.check(JSON.parse(small.text))).toEqual([])
      expect(small.text).toContain('Find the bug in the parser.')
    },
  )
})
