import type { Link } from '../../core/chain.ts'
import type { EnvelopeChanges } from '../../core/conversation.ts'
import { changeEnvelope, type Edit, type Plan } from '../../core/edits.ts'
import { declaredCount } from '../../core/epochs.ts'
import type { Item } from '../../core/item.ts'
import type { Epoch } from '../../core/records.ts'
import { openStepStart, turnsOf } from '../../core/turns.ts'
import type { PrepareContext, View } from '../prepare/context.ts'

export interface Release {
  readonly drops: readonly Edit[]
  /** Thinking of the step that was open when the epoch was declared is bound to a prefix that is gone, and may not be dropped. */
  readonly stale: boolean
}

/**
 * The view with other instructions or tools, written. These stand before everything, so a change of them for one request unbinds every thought in
 * it: the provider is asked to leave those out.
 */
export function withNewHead({ deps, target, codec }: PrepareContext, view: View, changes: EnvelopeChanges): View {
  const isBound =
    deps.catalogue.resolve(target.model).info.bindsThinking &&
    view.conversation.items.some(({ kind }) => kind === 'reasoning')
  const conversation = changeEnvelope(view.conversation, isBound ? { ...changes, dropStaleThinking: true } : changes)
  const headers = isBound ? { ...view.headers, ...codec.traits.staleThinkingHeaders } : view.headers
  const { text } = codec.encode(conversation)
  const load = { ...view.load, bytes: Buffer.byteLength(text) }
  return { ...view, conversation, headers, text, load }
}

const NONE: Release = { drops: [], stale: false }

/**
 * Models that bind thinking refuse a block whose prefix has changed. An epoch changes the prefix of every block that was
 * issued before it and stands behind its first edit: those leave with it. Blocks issued later were bound to the view as the
 * epoch made it, and that view is what we send again. First-send edits change nothing: the model never saw another text.
 */
export function releasedThinking(
  epoch: Epoch | undefined,
  plan: Plan,
  items: readonly Item[],
  links: readonly Link[],
  /** Tools came with the epoch: they stand before everything. */
  fromTheStart = false,
): Release {
  const covered = epoch === undefined ? undefined : links[Math.min(declaredCount(epoch), links.length) - 1]
  if (covered === undefined) return NONE
  const first = fromTheStart ? 0 : firstEdited(plan, items, 0)
  const issued = items.slice(0, covered.index + 1)
  // Behind the provider's own compaction thinking is bound to that, whatever became of what it stands for.
  const compaction = issued.findLastIndex(({ standsForPrefix }) => standsForPrefix === true)
  const firstBehind = fromTheStart ? 0 : compaction < 0 ? first : firstEdited(plan, items, compaction)
  const openFrom = openStepStart(issued, turnsOf(issued))
  const gone = new Set(plan.filter((edit) => edit.op === 'drop').map((edit) => edit.id))
  const drops: Edit[] = []
  let stale = false
  for (let i = first; i < issued.length; i++) {
    const item = issued[i]!
    if (item.kind !== 'reasoning' || gone.has(item.id) || (i > compaction && i < firstBehind)) continue
    if (i >= openFrom) stale = true
    else drops.push({ op: 'drop', id: item.id, reason: 'signed for a history that a compaction changed' })
  }
  return { drops, stale }
}

/** Where the view first differs from the transcript. */
function firstEdited(plan: Plan, items: readonly Item[], from: number): number {
  const touched = new Set(plan.map((edit) => (edit.op === 'insert' ? edit.before : edit.id)))
  const index = items.findIndex((item, i) => i >= from && touched.has(item.id))
  return index < 0 ? items.length : index
}
