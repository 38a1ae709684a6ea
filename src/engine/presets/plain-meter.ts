import type { Conversation } from '../../core/conversation.ts'
import type { Meter } from '../../meter/index.ts'
import type { DesignMeter } from './design.ts'

/** A design's formula; `telemetry` is what the provider counted last on this model. Undefined: it cannot say. */
export type Formula = (conversation: Conversation, model: string, telemetry: number | undefined) => number | undefined

/**
 * A meter that decides by a design's formula. `count.tokens` is the design's number, which says when to act; `count.high` is what may
 * leave, and there our own meter decides: four of the five designs count no framing, no tools or only constants.
 */
export function plainMeter(base: Meter, formula: Formula): DesignMeter {
  return {
    ...base,
    design: {
      factor: () => 1,
      estimate: (conversation, model) => formula(conversation, model, undefined) ?? 0,
      load({ target, conversation, occupancy, last }) {
        const { count, measured } = occupancy
        const estimate = formula(conversation, target.model, last?.prompt) ?? 0
        // Where a measured prompt is part of the request, it is worth more than the formula.
        const tokens = measured === undefined ? estimate : Math.max(estimate, count.tokens)
        return { ...occupancy, count: { ...count, tokens } }
      },
      certain: () => undefined,
    },
  }
}
