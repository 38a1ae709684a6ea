import type { Handle } from '../../../../core/handles.ts'
import type { CollapseStep } from '../../../../core/policy.ts'
import type { EpochEdit } from '../../../../core/records.ts'
import { linkPlaces, storedText, type Draft, type Proposal, type StoredText } from '../draft.ts'

/** Points older results at a newer one with the same text: a file read twice needs to be seen once. */
export function collapseDuplicates(draft: Draft, { minTokens = 200 }: CollapseStep): Proposal {
  const places = linkPlaces(draft)
  const newest = new Map<string, number>()
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  for (let index = draft.items.length - 1; index >= 0; index--) {
    const item = draft.items[index]!
    if (item.kind !== 'result' || item.sealed === true || draft.tokensOf(item) < minTokens) continue
    const later = newest.get(item.text)
    if (later === undefined) {
      newest.set(item.text, index)
      continue
    }
    if (index >= draft.openFrom || places[index]! < 0) continue
    const handle = draft.handleOf(item.text)
    const { toolName = 'tool', callId } = draft.items[later]!
    const where = callId === undefined ? `a later result of ${toolName}` : `the later result of ${toolName} (${callId})`
    edits.push({
      op: 'replace',
      at: places[index]!,
      text: `[The same text as ${where} below; stored as ${handle}.]`,
      handle,
      reason: 'repeated by a later result',
    })
    stored.set(handle, storedText(item))
  }
  return { edits: edits.reverse(), stored }
}
