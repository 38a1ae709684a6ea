import type { Handle } from '../../../../core/handles.ts'
import type { OffloadStep } from '../../../../core/policy.ts'
import type { EpochEdit } from '../../../../core/records.ts'
import { linkPlaces, storedText, type Draft, type Proposal, type StoredText } from '../draft.ts'
import { between } from '../zones.ts'

/** Shows old results as a short digest with their handle, the oldest first in line. */
export function offload(draft: Draft, step: OffloadStep): Proposal {
  const { from, to } = between(draft, step)
  const places = linkPlaces(draft)
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  for (let index = from; index < to; index++) {
    const item = draft.items[index]!
    if (item.kind !== 'result' || item.sealed === true || places[index]! < 0) continue
    const tokens = draft.tokensOf(item)
    if (tokens < step.minTokens) continue
    const handle = draft.handleOf(item.text)
    const text = draft.present(item.text, {
      budgetTokens: step.digestTokens,
      countTokens: draft.countText,
      handle,
      ...(item.toolName !== undefined && { tool: item.toolName }),
      readers: draft.readers,
    })
    if (draft.countText(text) >= tokens) continue
    edits.push({
      op: 'replace',
      at: places[index]!,
      text,
      handle,
      reason: `${Math.ceil(tokens)} tokens stored, digest shown`,
    })
    stored.set(handle, storedText(item))
  }
  return { edits, stored }
}
