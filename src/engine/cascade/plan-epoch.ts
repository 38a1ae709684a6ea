import type { Handle } from '../../core/handles.ts'
import type { CascadeStep } from '../../core/policy.ts'
import type { EpochEdit } from '../../core/records.ts'
import { linkPlaces, NOTHING, type Draft, type Proposal, type StoredText } from './draft.ts'
import { fold } from './fold.ts'
import { squeeze } from './squeeze.ts'

/**
 * Runs the cascade until the projected load is at low water or the steps are used up. Projections here are sums of upper
 * bounds; the caller measures the real view afterwards and decides.
 */
export function planEpoch(draft: Draft, steps: readonly CascadeStep[]): Proposal {
  let proposal = NOTHING
  for (const step of steps) {
    const excess = projectedTokens(draft, proposal) - draft.lowTokens
    if (excess <= 0) break
    if (step.step === 'fold') proposal = merge(proposal, fold(draft, step))
    else if (step.step === 'squeeze' && projectedTokens(draft, proposal) > draft.limitTokens) {
      // Shortening what the model is about to read hurts, so this step only goes as far as the limit demands.
      const over = projectedTokens(draft, proposal) - draft.limitTokens * 0.95
      proposal = merge(proposal, squeeze(draft, over, goneIn(draft, proposal), step))
    }
  }
  return proposal
}

export function projectedTokens(draft: Draft, proposal: Proposal): number {
  const gone = goneIn(draft, proposal)
  let sum = draft.fixedTokens
  for (const [index, item] of draft.items.entries()) if (!gone(index)) sum += draft.tokensOf(item)
  for (const edit of proposal.edits) {
    if (edit.op === 'insert') sum += draft.countText(edit.text)
    if (edit.op === 'replace')
      sum += draft.countText(edit.text) - draft.tokensOf(draft.items[draft.links[edit.at]!.index]!)
  }
  return sum
}

export function goneIn(draft: Draft, proposal: Proposal): (index: number) => boolean {
  const places = linkPlaces(draft)
  const dropped = new Uint8Array(draft.links.length)
  for (const edit of proposal.edits) if (edit.op === 'drop') dropped.fill(1, edit.from, edit.to)
  return (index) => {
    // Items outside the chain go with the next chained item.
    for (let i = index; i < draft.items.length; i++) if (places[i]! >= 0) return dropped[places[i]!] === 1
    return false
  }
}

export function merge(a: Proposal, b: Proposal): Proposal {
  if (b.edits.length === 0) return a
  const edits: EpochEdit[] = [...a.edits, ...b.edits]
  const stored = new Map<Handle, StoredText>([...a.stored, ...b.stored])
  return { edits, stored }
}

/** How many chained items the edits reach over. */
export function coverage(edits: readonly EpochEdit[]): number {
  return edits.reduce(
    (most, edit) => Math.max(most, edit.op === 'drop' ? edit.to : edit.op === 'insert' ? edit.at : edit.at + 1),
    0,
  )
}
