import { describe, expect, it } from 'vitest'

import type { Conversation } from '../../src/core/conversation.ts'
import { conversationView, ReplayMeter } from '../../src/lab/replay/price.ts'
import { readableText } from '../../src/lab/replay/recall.ts'
import { replaySession } from '../../src/lab/replay/replay.ts'
import { loadFixture } from '../transcripts/fixtures.ts'
import type { Recording } from '../../src/lab/transcripts/recording.ts'

const PRICE = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, cacheMinimum: 0 }
const countText = (text: string) => text.length / 4
const recording = loadFixture('tau-bench.json').recordings[0] as Recording

function sent(to: number) {
  const messages = recording.messages.slice(0, to)
  const pieces = messages.map(({ parts }) => {
    const text = parts.map((part) => part.text).join('\n')
    return { text, tokens: parts.reduce((sum, part) => sum + countText(part.text), 0) }
  })
  return {
    pieces,
    whole: pieces,
    texts: messages.flatMap(({ parts }) => parts.map(readableText)),
  }
}

describe('ReplayMeter', () => {
  it('gives the price of sending everything to a session that sends everything', () => {
    const meter = new ReplayMeter(recording, PRICE)
    for (const call of recording.calls) meter.add(call.index, sent(call.to))
    const report = meter.report()
    expect(report).toMatchObject({ quoteRecall: 1, nameRecall: 1, recoverableRecall: 1 })
    expect(report.costUsd).toBeCloseTo(report.unmanagedCostUsd, 12)
    expect(report.costUsd).toBeGreaterThan(0)
  })

  it('says what a reduced view lost and what was in reach, and is cheaper', () => {
    const meter = new ReplayMeter(recording, PRICE)
    for (const call of recording.calls) {
      const { pieces, whole, texts } = sent(call.to)
      meter.add(call.index, { pieces: pieces.slice(-1), texts: texts.slice(-1), reachable: texts, whole })
    }
    const report = meter.report()
    expect(report.recoverableRecall).toBe(1)
    expect(report.nameRecall).toBeLessThan(1)
    expect(report.costUsd).toBeLessThan(report.unmanagedCostUsd)
  })

  it('prices the tools of a session that sends everything', () => {
    const tools = [{ text: '{"name":"read"}', tokens: 5_000 }]
    const bare = new ReplayMeter(recording, PRICE)
    const meter = new ReplayMeter(recording, PRICE)
    for (const call of recording.calls) {
      bare.add(call.index, sent(call.to))
      const pieces = [...tools, ...sent(call.to).pieces]
      meter.add(call.index, { ...sent(call.to), pieces, whole: pieces })
    }
    expect(meter.report().costUsd).toBeCloseTo(meter.report().unmanagedCostUsd, 12)
    // Written once, then read from the cache.
    const once = (5_000 * 3.75 + (recording.calls.length - 1) * 5_000 * 0.3) / 1e6
    expect(meter.report().unmanagedCostUsd - bare.report().unmanagedCostUsd).toBeCloseTo(once, 9)
  })

  it('neither prices nor reads a request that was refused', () => {
    const meter = new ReplayMeter(recording, PRICE)
    for (const call of recording.calls) meter.add(call.index, { ...sent(call.to), refused: true })
    expect(meter.report()).toMatchObject({ costUsd: 0, nameRecall: 0 })
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

describe('a replay without a compaction', () => {
  it('costs exactly what it costs without us, and counts what leaves', async () => {
    const { result, steps } = await replaySession(recording, { window: 200_000, policy: 'plimsoll' })
    expect(result.epochs).toBe(0)
    expect(result.costUsd).toBe(result.unmanagedCostUsd)
    expect(steps.at(-1)!.load - result.peakLoad).toBeLessThan(20)
    const told = await replaySession(recording, { window: 200_000, policy: 'plimsoll', usage: false })
    expect(told.result.costUsd).toBe(result.costUsd)
    expect(told.steps.at(-1)!.load).toBeGreaterThan(steps.at(-1)!.load)
  })
})
