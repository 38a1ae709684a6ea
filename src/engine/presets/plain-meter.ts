import type { Conversation } from '../../core/conversation.ts'
import type { Meter } from '../../meter/index.ts'
import type { DesignMeter } from './design.ts'

/**
 * A meter that decides by a design's formula. `count.tokens` is the design's number, which says when to act; `count.high` is what may
 * leave, and there our own meter decides: four of the five designs count no framing, no tools or only constants.
 */
export function plainMeter(base: Meter, estimate: (conversation: Conversation, model: string) => number): DesignMeter {
  return {
    ...base,
    design: {
      factor: () => 1,
      load({ target, conversation, occupancy }) {
        const { count, measured } = occupancy
        const formula = estimate(conversation, target.model)
        // Where a measured prompt is part of the request, it is worth more than the formula.
        const tokens = measured === undefined ? formula : Math.max(formula, count.tokens)
        return { ...occupancy, count: { ...count, tokens } }
      },
      certain: () => undefined,
    },
  }
}
