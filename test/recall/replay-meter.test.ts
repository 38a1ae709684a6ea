import { describe, expect, it } from 'vitest'

import type { Conversation } from '../../src/core/conversation.ts'
import { conversationView } from '../../src/lab/replay/conversation-view.ts'
import { ReplayMeter } from '../../src/lab/replay/replay-meter.ts'
import { readableText } from '../../src/lab/replay/source.ts'
import { loadFixture } from '../transcripts/fixtures.ts'
import type { Recording } from '../../src/lab/transcripts/recording.ts'

const PRICE = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, cacheMinimum: 0 }
const countText = (text: string) => text.length / 4
const recording = loadFixture('tau-bench.json').recordings[0] as Recording

function sent(to: number) {
  const messages = recording.messages.slice(0, to)
  return {
    pieces: messages.map(({ parts }) => {
      const text = parts.map((part) => part.text).join('\n')
      return { text, tokens: parts.reduce((sum, part) => sum + countText(part.text), 0) }
    }),
    texts: messages.flatMap(({ parts }) => parts.map(readableText)),
  }
}

describe('ReplayMeter', () => {
  it('gives the price of sending everything to a session that sends everything', () => {
    const meter = new ReplayMeter(recording, { price: PRICE, countText })
    for (const call of recording.calls) meter.add(call.index, sent(call.to))
    const report = meter.report()
    expect(report).toMatchObject({
      calls: recording.calls.length,
      quoteRecall: 1,
      nameRecall: 1,
      recoverableRecall: 1,
      overflows: 0,
    })
    expect(report.costUsd).toBeCloseTo(report.unmanagedCostUsd, 12)
    expect(report.costUsd).toBeGreaterThan(0)
  })

  it('counts what a reduced view lost, cost and needed', () => {
    const meter = new ReplayMeter(recording, { price: PRICE, countText, priceOutput: true })
    for (const call of recording.calls) {
      const last = sent(call.to)
      const summary = { pieces: [{ text: 'please sum up', tokens: 2000 }], outputTokens: 300 }
      meter.add(call.index, {
        pieces: last.pieces.slice(-1),
        texts: last.texts.slice(-1),
        reachable: last.texts,
        ...(call.index === 1 && { epochs: 1, summaries: [summary], overflow: true, invalid: true, lost: 2 }),
      })
    }
    const report = meter.report()
    expect(report).toMatchObject({
      epochs: 1,
      summarizerCalls: 1,
      overflows: 1,
      invalid: 1,
      lost: 2,
      recoverableRecall: 1,
    })
    expect(report.nameRecall).toBeLessThan(1)
    expect(report.peakLoad).toBeLessThan(2000)
  })

  it('prices the tools of a session that sends everything', () => {
    const tools = [{ text: '{"name":"read"}', tokens: 5_000 }]
    const bare = new ReplayMeter(recording, { price: PRICE, countText })
    const meter = new ReplayMeter(recording, { price: PRICE, countText })
    for (const call of recording.calls) {
      bare.add(call.index, sent(call.to))
      meter.add(call.index, { ...sent(call.to), pieces: [...tools, ...sent(call.to).pieces], tools })
    }
    expect(meter.report().costUsd).toBeCloseTo(meter.report().unmanagedCostUsd, 12)
    // Written once, then read from the cache.
    const once = (5_000 * 3.75 + (recording.calls.length - 1) * 5_000 * 0.3) / 1e6
    expect(meter.report().unmanagedCostUsd - bare.report().unmanagedCostUsd).toBeCloseTo(once, 9)
  })

  it('neither prices nor reads a request that was refused', () => {
    const meter = new ReplayMeter(recording, { price: PRICE, countText })
    for (const call of recording.calls) meter.add(call.index, { ...sent(call.to), refused: true, overflow: true })
    expect(meter.report()).toMatchObject({ overflows: recording.calls.length, lost: 0, costUsd: 0, nameRecall: 0 })
    expect(meter.report().unmanagedCostUsd).toBeGreaterThan(0)
  })
})

describe('conversationView', () => {
  it('puts tools and head before the history and reads arguments without escapes', () => {
    const conversation: Conversation = {
      format: 'anthropic-messages',
      head: [{ id: 'h', kind: 'instruction', role: 'system', text: 'be brief', message: -1 }],
      items: [{ id: '0', kind: 'call', role: 'assistant', text: '{"old":"a\\nb"}', message: 0, callId: '1' }],
      tools: [{ name: 'edit', text: '{"name":"edit"}' }],
      settings: { stream: false, reasoning: false },
      source: { format: 'anthropic-messages', value: undefined },
    }
    const view = conversationView(conversation, (item) => item.text.length, countText)
    expect(view.pieces.map(({ text }) => text)).toEqual(['{"name":"edit"}', 'be brief', '{"old":"a\\nb"}'])
    expect(view.texts).toEqual(['be brief', 'a\nb'])
  })
})
