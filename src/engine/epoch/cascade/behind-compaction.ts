import type { Draft, Proposal } from './draft.ts'
import { NOTHING } from './draft.ts'
import { dropEdits, foldableIn } from './zones.ts'

/**
 * What stands before the provider's newest compaction is read by nobody any more: it leaves without a word in its place, and a summary
 * of ours has to stand behind it. For the steps that follow these items are gone: they weigh nothing and are nobody's to fold.
 */
export function behindCompaction(draft: Draft): { readonly draft: Draft; readonly proposal: Proposal } {
  const at = draft.items.findLastIndex(({ standsForPrefix }) => standsForPrefix === true)
  const start = at < 0 ? 0 : (draft.turns.steps.find(({ to }) => to > at)?.from ?? 0)
  const gone = at < 0 ? [] : foldableIn(draft, 0, start)
  if (gone.length === 0) return { draft, proposal: NOTHING }
  const weightless = new Set(gone.map((index) => draft.items[index]!))
  return {
    draft: {
      ...draft,
      keep: new Set([...draft.keep, ...gone]),
      pinned: new Set([...draft.pinned, ...gone]),
      tokensOf: (item) => (weightless.has(item) ? 0 : draft.tokensOf(item)),
    },
    proposal: { edits: dropEdits(draft, gone, 'the provider’s own compaction stands for it'), stored: new Map() },
  }
}
