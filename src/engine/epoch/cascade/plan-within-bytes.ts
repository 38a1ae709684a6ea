import { mediaBytes, type Item } from '../../../core/item.ts'
import type { CascadeStep } from '../../../core/policy.ts'
import type { Pause } from '../../../util/yield-now.ts'
import { type Draft, type Proposal } from './draft.ts'
import { goneIn, merge, planEpoch } from './plan-epoch.ts'
import { strippedIn } from './steps/strip-reasoning.ts'
import { shedMedia } from './shed-media.ts'

/** Media goes down to this share of the byte limit at once: one epoch for many pictures, not one for each. */
const AIM_SHARE = 0.6
/** The projection adds up texts, not the wire's own escapes. */
const LIMIT_SHARE = 0.98

/**
 * The cascade, and then the other limit: a body may be small in tokens and too large in bytes. Media leaves first, since a picture
 * weighs a thousand times more in bytes than in tokens; text only when that was not enough, by a plan for a smaller window.
 */
export async function planWithinBytes(draft: Draft, steps: readonly CascadeStep[], pause: Pause): Promise<Proposal> {
  const planned = await planEpoch(draft, steps, pause)
  const bytes = projectedBytes(draft, planned)
  if (bytes <= draft.limitBytes) return planned
  const limitBytes = draft.limitBytes * LIMIT_SHARE
  const shed = merge(
    planned,
    shedMedia(draft, bytes, goneIn(draft, planned), { aimBytes: draft.limitBytes * AIM_SHARE, limitBytes }),
  )
  const left = projectedBytes(draft, shed)
  if (left <= draft.limitBytes) return shed
  const share = (AIM_SHARE * draft.limitBytes) / left
  const total = draft.items.reduce((sum, item) => sum + draft.tokensOf(item), draft.fixedTokens)
  const tighter: Draft = {
    ...draft,
    limitTokens: Math.min(draft.limitTokens, total) * share,
    lowTokens: Math.min(draft.lowTokens, total * share),
  }
  const again = await planEpoch(tighter, steps, pause)
  const rest = projectedBytes(draft, again)
  if (rest <= limitBytes) return again
  return merge(again, shedMedia(draft, rest, goneIn(draft, again), { aimBytes: limitBytes * AIM_SHARE, limitBytes }))
}

/** Bytes of the body under a proposal. Items that stay count as they came, so the envelope needs no estimate. */
function projectedBytes(draft: Draft, proposal: Proposal): number {
  const gone = goneIn(draft, proposal)
  let bytes = draft.bytes
  const stripped = strippedIn(draft, proposal)
  for (const [index, item] of draft.items.entries()) if (gone(index) || stripped.has(index)) bytes -= wireBytes(item)
  for (const edit of proposal.edits) {
    if (edit.op === 'insert') bytes += textBytes(edit.text)
    if (edit.op === 'replace') bytes += textBytes(edit.text) - wireBytes(draft.items[draft.links[edit.at]!.index]!)
  }
  return bytes
}

/** Bytes of a body once these items, by index, show another text. */
export function bytesAfter(
  bytes: number,
  items: readonly Item[],
  shown: ReadonlyMap<number, { readonly text: string }>,
): number {
  let sum = bytes
  for (const [index, { text }] of shown) sum += textBytes(text) - wireBytes(items[index]!)
  return sum
}

const textBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text))
const wireBytes = (item: Item): number => mediaBytes(item) + textBytes(item.text)
