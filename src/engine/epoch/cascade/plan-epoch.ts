import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { CascadeStep } from '../../../core/policy.ts'
import type { EpochEdit } from '../../../core/records.ts'
import type { Pause } from '../../../util/yield-now.ts'
import { behindCompaction } from './behind-compaction.ts'
import { collapseDuplicates } from './steps/collapse-duplicates.ts'
import { compressResults } from './steps/compress-results.ts'
import { nextPlaces, NOTHING, workingRoom, type Draft, type Proposal, type StoredText } from './draft.ts'
import { emergencyFold } from './steps/emergency.ts'
import { fold } from './steps/fold.ts'
import { offload } from './steps/offload.ts'
import { squeeze } from './steps/squeeze.ts'
import { strippedIn, stripReasoning } from './steps/strip-reasoning.ts'
import { summarise } from './steps/summarise.ts'
import { slideWindow } from './steps/window.ts'

/**
 * Runs the cascade until the projected load is at low water or the steps are used up. Projections here are sums of upper
 * bounds; the caller measures the real view afterwards and decides.
 */
export async function planEpoch(whole: Draft, steps: readonly CascadeStep[], pause: Pause): Promise<Proposal> {
  const { draft, proposal: before } = behindCompaction(whole)
  let proposal = before
  let isBraked = false
  for (const step of steps) {
    if (isBraked && !isLastResort(step)) continue
    const projected = projectedTokens(draft, proposal)
    if (!isNeeded(draft, step, proposal, projected)) continue
    await pause()
    const proposed = await propose(draft, step, proposal, projected, pause)
    isBraked ||= step.step === 'emergency' && proposed.edits.length > 0
    await pause()
    proposal = merge(proposal, proposed)
  }
  return proposal
}

/** What a squeeze leaves free where its policy does not say it, of the room to work in. */
const SQUEEZED_FREE = 0.05

/** What only makes a request fit that would not leave otherwise. */
const isLastResort = (step: CascadeStep): boolean => step.step === 'squeeze' && (step.above ?? 1) >= 1

/** Whether earlier steps have left something to do. */
function isNeeded(draft: Draft, step: CascadeStep, before: Proposal, projected: number): boolean {
  if (step.step === 'summarise' && step.measure === 'estimate' && draft.estimate !== undefined) {
    const line = step.above === undefined ? draft.lowTokens : draft.windowTokens * step.above
    return draft.estimate(itemsUnder(draft, before)) >= line
  }
  if (step.step === 'summarise' && projected <= draft.limitTokens * (step.above ?? 0)) return false
  return projected > draft.lowTokens || isAboutNumber(step)
}

/** The items that a plan would leave, its own messages among them. */
function itemsUnder(draft: Draft, proposal: Proposal): Item[] {
  const gone = goneIn(draft, proposal)
  const shown = shownIn(draft, proposal)
  const left = draft.items.flatMap((item, index) => {
    if (gone(index)) return []
    const text = shown.get(index)
    return [text === undefined ? item : { ...item, text }]
  })
  const ours = proposal.edits.flatMap((edit): Item[] =>
    edit.op === 'insert' ? [{ id: '', kind: 'user', role: edit.role, text: edit.text, message: -1 }] : [],
  )
  return [...left, ...ours]
}

/** Some steps are about the number of messages, whatever they weigh. */
const isAboutNumber = (step: CascadeStep): boolean =>
  step.step === 'window' || step.step === 'compress-results' || (step.step === 'summarise' && step.always === true)

function propose(
  draft: Draft,
  step: CascadeStep,
  before: Proposal,
  projected: number,
  pause: Pause,
): Proposal | Promise<Proposal> {
  switch (step.step) {
    case 'fold':
      return fold(draft, step, pause)
    case 'squeeze': {
      const { above = 1, to, tokens = Infinity, minimum = 0 } = step
      const level = (share: number): number => Math.min(tokens, draft.limitTokens * share)
      if (draft.items.length < minimum || projected <= level(above)) return NOTHING
      const aim =
        to === undefined ? Math.min(tokens, draft.limitTokens - SQUEEZED_FREE * workingRoom(draft)) : level(to)
      // Only what would not leave otherwise may cost a person's words their middle.
      const options = { floorTokens: step.floorTokens, spareUser: !isLastResort(step) }
      return squeeze(draft, projected - aim, goneIn(draft, before), options, shownIn(draft, before))
    }
    case 'collapse-duplicates':
      return collapseDuplicates(draft, step)
    case 'compress-results':
      return compressResults(draft, step)
    case 'offload':
      return offload(draft, step)
    case 'window':
      return slideWindow(draft, step)
    case 'summarise':
      return summarise(draft, step, goneIn(draft, before))
    case 'emergency':
      return emergencyFold(draft, step, goneIn(draft, before))
    case 'strip-reasoning':
      return stripReasoning(draft, step)
    case 'native':
    case 'final':
      // Change the envelope, not the history: see `prepare/decorate/native.ts` and `prepare/final-turn.ts`.
      return NOTHING
  }
}

function projectedTokens(draft: Draft, proposal: Proposal): number {
  const gone = goneIn(draft, proposal)
  let sum = draft.fixedTokens
  const stripped = strippedIn(draft, proposal)
  for (const [index, item] of draft.items.entries())
    if (!gone(index) && !stripped.has(index)) sum += draft.tokensOf(item)
  for (const edit of proposal.edits) {
    if (edit.op === 'insert') sum += draft.countText(edit.text)
    if (edit.op === 'replace')
      sum += draft.countText(edit.text) - draft.tokensOf(draft.items[draft.links[edit.at]!.index]!)
  }
  return sum
}

/** What earlier steps show an item as, by its index. */
function shownIn(draft: Draft, { edits }: Proposal): ReadonlyMap<number, string> {
  return new Map(edits.flatMap((edit) => (edit.op === 'replace' ? [[draft.links[edit.at]!.index, edit.text]] : [])))
}

export function goneIn(draft: Draft, proposal: Proposal): (index: number) => boolean {
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
export function merge(a: Proposal, b: Proposal): Proposal {
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
  const edits = [...kept, ...b.edits]
  const stored = new Map<Handle, StoredText>([...a.stored, ...b.stored])
  return { edits: withoutOverlaps(edits), stored, ...(asks.length > 0 && { asks }) }
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
