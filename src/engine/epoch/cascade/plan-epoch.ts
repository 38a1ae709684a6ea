import type { Handle } from '../../../core/handles.ts'
import { mediaBytes, type Item } from '../../../core/item.ts'
import type { CascadeStep, Policy, SqueezeStep } from '../../../core/policy.ts'
import type { EpochEdit } from '../../../core/records.ts'
import { designOf, type OwnStepFunction } from '../../presets/design.ts'
import {
  dropEdits,
  foldableIn,
  nextPlaces,
  NOTHING,
  workingRoom,
  type Draft,
  type PlannedSoFar,
  type Proposal,
  type StoredText,
} from './draft.ts'
import { fold } from './fold.ts'
import { shedMedia } from './shed-media.ts'
import { squeeze } from './squeeze.ts'

/** Media goes down to this share of the byte limit at once: one epoch for many pictures, not one for each. */
const AIM_SHARE = 0.6
/** The projection adds up texts, not the wire's own escapes. */
const LIMIT_SHARE = 0.98

/**
 * The cascade, and then the other limit: a body may be small in tokens and too large in bytes. Media leaves first, since a picture
 * weighs a thousand times more in bytes than in tokens; text only when that was not enough, by a plan for a smaller window.
 */
export async function planEpoch(draft: Draft, policy: Policy): Promise<Proposal> {
  const planned = await runCascade(draft, policy)
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
  const again = await runCascade(tighter, policy)
  const rest = projectedBytes(draft, again)
  if (rest <= limitBytes) return again
  return merge(again, shedMedia(draft, rest, goneIn(draft, again), { aimBytes: limitBytes * AIM_SHARE, limitBytes }))
}

/**
 * Runs the steps until the projected load is at low water or they are used up. Projections here are sums of upper
 * bounds; the caller measures the real view afterwards and decides.
 */
async function runCascade(whole: Draft, policy: Policy): Promise<Proposal> {
  const { draft, proposal: before } = behindCompaction(whole)
  let proposal = before
  for (const step of policy.cascade) proposal = merge(proposal, await propose(draft, policy, step, proposal))
  return proposal
}

function propose(draft: Draft, policy: Policy, step: CascadeStep, proposal: Proposal): Proposal | Promise<Proposal> {
  const projected = projectedTokens(draft, proposal)
  const isNeeded = projected > draft.lowTokens
  switch (step.step) {
    case 'fold':
      return isNeeded ? fold(draft, step) : NOTHING
    case 'squeeze':
      return isNeeded ? squeezeTo(draft, step, proposal, projected) : NOTHING
    case 'final':
      // Changes the envelope, not the history: see `prepare/final-turn.ts`.
      return NOTHING
    default: {
      // The type of its numbers goes with the name of the step.
      const own = designOf(policy).steps?.[step.step] as OwnStepFunction<typeof step> | undefined
      return own?.(draft, step, soFar(draft, proposal, projected)) ?? NOTHING
    }
  }
}

/** What a squeeze leaves free where its policy does not say it, of the room to work in. */
const SQUEEZED_FREE = 0.05

function squeezeTo(
  draft: Draft,
  { floorTokens, above = 1, to }: SqueezeStep,
  before: Proposal,
  projected: number,
): Proposal | Promise<Proposal> {
  if (projected <= draft.limitTokens * above) return NOTHING
  const aim = to === undefined ? draft.limitTokens - SQUEEZED_FREE * workingRoom(draft) : draft.limitTokens * to
  // Only what would not leave otherwise may cost a person's words their middle.
  const options = { floorTokens, spareUser: above < 1 }
  return squeeze(draft, projected - aim, goneIn(draft, before), options, shownIn(draft, before))
}

/**
 * The model no longer reads what stands before the provider's newest compaction: it leaves without a word in its place, and a summary
 * of ours has to stand behind it. For the steps that follow these items are gone: they weigh nothing and cannot be folded.
 */
function behindCompaction(draft: Draft): { readonly draft: Draft; readonly proposal: Proposal } {
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

function soFar(draft: Draft, proposal: Proposal, projected: number): PlannedSoFar {
  const gone = goneIn(draft, proposal)
  const shown = shownIn(draft, proposal)
  return { edits: proposal.edits, projected, gone, shown, items: () => itemsUnder(draft, proposal, gone, shown) }
}

/** The items that a plan would leave, its own messages among them. */
function itemsUnder(
  draft: Draft,
  { edits }: Proposal,
  gone: (index: number) => boolean,
  shown: ReadonlyMap<number, string>,
): Item[] {
  const left = draft.items.flatMap((item, index) => {
    if (gone(index)) return []
    const text = shown.get(index)
    return [text === undefined ? item : { ...item, text }]
  })
  const ours = edits.flatMap((edit): Item[] =>
    edit.op === 'insert' ? [{ id: '', kind: 'user', role: edit.role, text: edit.text, message: -1 }] : [],
  )
  return [...left, ...ours]
}

function projectedTokens(draft: Draft, proposal: Proposal): number {
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

/** Bytes of the body under a proposal. Items that stay count as they came, so the envelope needs no estimate. */
function projectedBytes(draft: Draft, proposal: Proposal): number {
  const gone = goneIn(draft, proposal)
  let bytes = draft.bytes
  for (const [index, item] of draft.items.entries()) if (gone(index)) bytes -= wireBytes(item)
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

/** What earlier steps show an item as, by its index. */
function shownIn(draft: Draft, { edits }: Proposal): ReadonlyMap<number, string> {
  return new Map(edits.flatMap((edit) => (edit.op === 'replace' ? [[draft.links[edit.at]!.index, edit.text]] : [])))
}

function goneIn(draft: Draft, proposal: Proposal): (index: number) => boolean {
  // Items outside the chain go with the next chained item.
  const places = nextPlaces(draft)
  const dropped = droppedPlaces(draft.links.length, proposal.edits)
  return (index) => dropped[places[index]!] === 1
}

function droppedPlaces(count: number, edits: readonly EpochEdit[]): Uint8Array {
  const dropped = new Uint8Array(count)
  for (const edit of edits) if (edit.op === 'drop') dropped.fill(1, edit.from, edit.to)
  return dropped
}

/**
 * A later step has the last word: what it drops needs no shorter text any more, what it rewrites is rewritten once, and a message
 * of ours inside what it drops is told again by its own.
 */
function merge(a: Proposal, b: Proposal): Proposal {
  if (b.edits.length === 0) return a
  const most = coverage([...a.edits, ...b.edits])
  const dropped = droppedPlaces(most + 1, b.edits)
  const rewritten = new Set(b.edits.filter((edit) => edit.op === 'replace').map((edit) => edit.at))
  const inserts = b.edits.some((edit) => edit.op === 'insert')
  const isCovered = (at: number): boolean => dropped[at] === 1 || (at > 0 && dropped[at - 1] === 1)
  const kept = a.edits.filter((edit) => {
    if (edit.op === 'replace') return dropped[edit.at] !== 1 && !rewritten.has(edit.at)
    return edit.op !== 'insert' || !inserts || !isCovered(edit.at)
  })
  const texts = new Set(kept.map((edit) => (edit.op === 'insert' ? edit.text : '')))
  const asks = [...(a.asks ?? []).filter(({ text }) => texts.has(text)), ...(b.asks ?? [])]
  const stored = new Map<Handle, StoredText>([...a.stored, ...b.stored])
  return { edits: withoutOverlaps([...kept, ...b.edits]), stored, asks: asks.length > 0 ? asks : undefined }
}

/** Two steps may drop the same place; each place is dropped once. */
function withoutOverlaps(edits: readonly EpochEdit[]): EpochEdit[] {
  const taken = new Set<number>()
  return edits.flatMap((edit): EpochEdit[] => {
    if (edit.op !== 'drop') return [edit]
    const ranges: (EpochEdit & { op: 'drop' })[] = []
    for (let place = edit.from; place < edit.to; place++) {
      if (taken.has(place)) continue
      taken.add(place)
      const last = ranges.at(-1)
      if (last?.to === place) ranges[ranges.length - 1] = { ...last, to: place + 1 }
      else ranges.push({ ...edit, from: place, to: place + 1 })
    }
    return ranges
  })
}

/** How many chained items the edits reach over. */
export function coverage(edits: readonly EpochEdit[]): number {
  return edits.reduce(
    (most, edit) => Math.max(most, 'to' in edit ? edit.to : edit.op === 'insert' ? edit.at : edit.at + 1),
    0,
  )
}
