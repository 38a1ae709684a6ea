import { rangesOf } from '../../../core/epochs.ts'
import { mediaBytes, type Item } from '../../../core/item.ts'
import type { CascadeStep, Policy, SqueezeStep } from '../../../core/policy.ts'
import type { EpochEdit, FirstSendEdit } from '../../../core/records.ts'
import { designOf, type OwnStepFunction } from '../../presets/design.ts'
import { dropEdits, foldableIn, NOTHING, workingRoom, type Draft, type PlannedSoFar, type Proposal } from './draft.ts'
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
  const { limitBytes } = draft
  const within = LIMIT_SHARE * limitBytes
  const planned = await runCascade(draft, policy)
  const before = under(draft, planned)
  if (before.bytes() <= limitBytes) return planned
  const shed = merge(planned, shedMedia(draft, before, AIM_SHARE * limitBytes, within))
  const left = under(draft, shed).bytes()
  if (left <= limitBytes) return shed
  const share = (AIM_SHARE * limitBytes) / left
  const total = draft.items.reduce((sum, item) => sum + draft.tokensOf(item), draft.fixedTokens)
  const tighter: Draft = {
    ...draft,
    limitTokens: Math.min(draft.limitTokens, total) * share,
    lowTokens: Math.min(draft.lowTokens, total * share),
  }
  const again = await runCascade(tighter, policy)
  const rest = under(draft, again)
  return rest.bytes() <= within ? again : merge(again, shedMedia(draft, rest, AIM_SHARE * within, within))
}

/**
 * Runs the steps until the projected load is at low water or they are used up. Projections here are sums of upper
 * bounds; the caller measures the real view afterwards and decides.
 */
async function runCascade(whole: Draft, policy: Policy): Promise<Proposal> {
  const { draft, proposal: before } = behindCompaction(whole)
  let proposal = before
  for (const step of policy.cascade) {
    const proposed = await propose(draft, policy, step, under(draft, proposal))
    proposal = merge(proposal, proposed)
  }
  return proposal
}

function propose(draft: Draft, policy: Policy, step: CascadeStep, before: PlannedSoFar): Proposal | Promise<Proposal> {
  const isNeeded = before.projected > draft.lowTokens
  switch (step.step) {
    case 'fold':
      return isNeeded ? fold(draft, step) : NOTHING
    case 'squeeze':
      return isNeeded ? squeezeTo(draft, step, before) : NOTHING
    case 'final':
      // Changes the envelope, not the history: see `prepare/permit.ts`.
      return NOTHING
    default: {
      // The type of its numbers goes with the name of the step.
      const own = designOf(policy).steps?.[step.step] as OwnStepFunction<typeof step> | undefined
      return own?.(draft, step, before) ?? NOTHING
    }
  }
}

/** What a squeeze leaves free where its policy does not say it, of the room to work in. */
const SQUEEZED_FREE = 0.05

function squeezeTo(
  draft: Draft,
  { floorTokens, above = 1, to }: SqueezeStep,
  before: PlannedSoFar,
): Proposal | Promise<Proposal> {
  if (before.projected <= draft.limitTokens * above) return NOTHING
  const aim = to === undefined ? draft.limitTokens - SQUEEZED_FREE * workingRoom(draft) : draft.limitTokens * to
  // Only what would not leave otherwise may cost a person's words their middle.
  return squeeze(draft, before.projected - aim, before, {
    floorTokens,
    spareUser: above < 1,
    spareWords: draft.sparesWords,
  })
}

/**
 * The model no longer reads what stands before the provider's newest compaction: it leaves without a word in its place, and a summary
 * of ours has to stand behind it. For the steps that follow these items are gone: they weigh nothing and cannot be folded. Where the compaction does
 * not stand for what users wrote, that stays as it is.
 */
function behindCompaction(draft: Draft): { readonly draft: Draft; readonly proposal: Proposal } {
  const at = draft.items.findLastIndex(({ standsForPrefix }) => standsForPrefix === true)
  const start = at < 0 ? 0 : (draft.turns.steps.find(({ to }) => to > at)?.from ?? 0)
  const before = at < 0 ? [] : foldableIn(draft, 0, start)
  if (before.length === 0) return { draft, proposal: NOTHING }
  const isRead = (index: number): boolean =>
    draft.items[at]!.sparesUsers === true &&
    draft.items[index]!.role === 'user' &&
    draft.items[index]!.kind !== 'result'
  const gone = before.filter((index) => !isRead(index))
  const weightless = new Set(gone.map((index) => draft.items[index]!))
  return {
    draft: {
      ...draft,
      keep: new Set([...draft.keep, ...before]),
      pinned: new Set([...draft.pinned, ...gone]),
      tokensOf: (item) => (weightless.has(item) ? 0 : draft.tokensOf(item)),
    },
    proposal: { edits: dropEdits(draft, gone, 'the provider’s own compaction stands for it'), stored: new Map() },
  }
}

/** What a proposal would leave of a draft. */
function under(draft: Draft, { edits }: Proposal): PlannedSoFar {
  const { items, links, tokensOf, countText } = draft
  const dropped = droppedPlaces(edits)
  const shown = new Map(edits.flatMap((edit) => (edit.op === 'replace' ? [[links[edit.at]!.index, edit.text]] : [])))
  const ours = edits.filter((edit) => edit.op === 'insert')
  const left = new Set<number>()
  // Items outside the chain go with the next chained item.
  for (let i = items.length - 1, place = -1; i >= 0; i--) {
    if (draft.places[i]! >= 0) place = draft.places[i]!
    if (!dropped.has(place)) left.add(i)
  }
  const gone = (index: number): boolean => !left.has(index)
  const sum = (of: (item: Item, text: string | undefined, isGone: boolean) => number): number =>
    items.reduce((all, item, index) => all + of(item, shown.get(index), gone(index)), 0)
  return {
    edits,
    gone,
    shown,
    projected:
      sum((item, text, isGone) => (isGone ? 0 : text === undefined ? tokensOf(item) : countText(text))) +
      ours.reduce((all, { text }) => all + countText(text), draft.fixedTokens),
    bytes: () =>
      draft.bytes +
      sum((item, text, isGone) =>
        isGone ? -wireBytes(item) : text === undefined ? 0 : textBytes(text) - wireBytes(item),
      ) +
      ours.reduce((all, { text }) => all + textBytes(text), 0),
    items: () => [
      ...items
        .map((item, index) => (shown.has(index) ? { ...item, text: shown.get(index)! } : item))
        .filter((_, index) => left.has(index)),
      ...ours.map(({ role, text }): Item => ({ id: '', kind: 'user', role, text, message: -1 })),
    ],
  }
}

/** Bytes of a body once these items, by index, show another text. */
export function bytesAfter(
  bytes: number,
  items: readonly Item[],
  shown: ReadonlyMap<number, Pick<FirstSendEdit, 'text' | 'cause'>>,
): number {
  let sum = bytes
  for (const [index, { text, cause }] of shown)
    sum += textBytes(text) - (cause === 'recall' ? 0 : wireBytes(items[index]!))
  return sum
}

const textBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text))
const wireBytes = (item: Item): number => mediaBytes(item) + textBytes(item.text)

/** Each place that is dropped, and why. */
function droppedPlaces(edits: readonly EpochEdit[]): Map<number, string> {
  const dropped = new Map<number, string>()
  for (const edit of edits) {
    if (edit.op !== 'drop') continue
    for (let place = edit.from; place < edit.to; place++) if (!dropped.has(place)) dropped.set(place, edit.reason)
  }
  return dropped
}

/**
 * A later step has the last word: what it drops needs no shorter text any more, what it rewrites is rewritten once, and a message
 * of ours inside what it drops is told again by its own. Each place is dropped once, for the first reason.
 */
function merge(a: Proposal, b: Proposal): Proposal {
  if (b.edits.length === 0) return a
  const dropped = droppedPlaces(b.edits)
  const rewritten = new Set(b.edits.filter((edit) => edit.op === 'replace').map((edit) => edit.at))
  const inserts = b.edits.some((edit) => edit.op === 'insert')
  const isCovered = (at: number): boolean => dropped.has(at) || dropped.has(at - 1)
  const kept = a.edits.filter((edit) => {
    if (edit.op === 'replace') return !dropped.has(edit.at) && !rewritten.has(edit.at)
    return edit.op === 'insert' && !(inserts && isCovered(edit.at))
  })
  const drops = [...droppedPlaces([...a.edits, ...b.edits])].map(([place, reason]) => ({ place, reason }))
  const texts = new Set(kept.map((edit) => (edit.op === 'insert' ? edit.text : '')))
  const asks = [...(a.asks ?? []).filter(({ text }) => texts.has(text)), ...(b.asks ?? [])]
  return {
    edits: [...rangesOf(drops), ...kept, ...b.edits.filter(({ op }) => op !== 'drop')],
    stored: new Map([...a.stored, ...b.stored]),
    asks: asks.length > 0 ? asks : undefined,
  }
}

/** How many chained items the edits reach over. */
export function coverage(edits: readonly EpochEdit[]): number {
  return edits.reduce(
    (most, edit) => Math.max(most, 'to' in edit ? edit.to : edit.op === 'insert' ? edit.at : edit.at + 1),
    0,
  )
}
