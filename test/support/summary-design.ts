import { foldableIn, headEnd, NOTHING, tailStart } from '../../src/engine/epoch/cascade/draft.ts'
import { summarise, type Style } from '../../src/engine/epoch/cascade/summarise.ts'
import { handover } from '../../src/engine/presets/contextguard/policy.ts'
import type { Design } from '../../src/engine/presets/design.ts'

/** A preset of the tests' own: one message stands for what is between the first message and the newest, within a share of the limit. */
export const summaryDesign = (share: number, style: Style = handover): Design => ({
  name: 'summarising',
  steps: {
    summarise: (draft, { tail }, { projected }) =>
      projected <= draft.lowTokens
        ? NOTHING
        : summarise(draft, {
            folded: foldableIn(draft, headEnd(draft, 1), tailStart(draft, tail, 'messages')),
            style,
            maxTokens: Math.floor(share * draft.limitTokens),
          }),
  },
})
