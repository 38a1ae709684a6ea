import { framingOfWire } from '../../src/formats/registry.ts'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import {
  type Anchor,
  anchorAfter,
  type Calibration,
  createMeter,
  growthSince,
  type TextCounter,
} from '../../src/meter/index.ts'
import type { RecordedSession } from './growth.ts'

/** A call's growth as predicted before it was made, and as the provider then reported it. */
export interface PredictedGrowth {
  readonly turn: number
  readonly predicted: number
  readonly real: number
  readonly low: number
  readonly high: number
  readonly characters: number
}

/** A growth of fewer tokens is within the noise of framing. */
const LEAST_GROWTH = 100

/** Plays a session through the meter as the engine does: predict, then learn from the report. */
export function replayGrowth(
  session: RecordedSession,
  calibration: Calibration | undefined,
  tokenizerFor?: (family: string) => TextCounter | undefined,
): PredictedGrowth[] {
  const meter = createMeter({
    framingOf: framingOfWire,
    catalogue: bundledCatalogue(),
    ...(calibration !== undefined && { calibration }),
    ...(tokenizerFor !== undefined && { tokenizerFor }),
  })
  const target = { model: session.model }
  const predictions: PredictedGrowth[] = []
  let items: readonly Item[] = []
  let anchor: Anchor | undefined
  session.calls.forEach((call, turn) => {
    items = [...items, ...call.added]
    const conversation = conversationOf(session.format, items)
    const measurement = meter.measure(target, conversation, 0)
    const growth = growthSince(meter, target, conversation, measurement, anchor)
    if (growth !== undefined && anchor !== undefined && call.prompt - anchor.prompt >= LEAST_GROWTH) {
      const predicted = growth.measured + growth.count.tokens - anchor.prompt
      predictions.push({
        turn,
        predicted,
        real: call.prompt - anchor.prompt,
        low: growth.measured + growth.count.low - anchor.prompt,
        high: growth.measured + growth.count.high - anchor.prompt,
        characters: call.added.reduce((sum, { text }) => sum + text.length, 0),
      })
      calibration?.observe({ target, estimated: growth.byClass, real: call.prompt - growth.measured, at: 0 })
    }
    const usage = { input: call.prompt, cacheRead: 0, cacheWrite: 0, output: call.output ?? 0, reasoning: 0 }
    anchor = anchorAfter(anchor, { usage, measurement, conversation })
  })
  return predictions
}

function conversationOf(format: string, items: readonly Item[]): Conversation {
  return {
    format,
    head: [],
    items,
    tools: [],
    settings: { stream: false, reasoning: false },
    source: { format, value: undefined },
  }
}
