import { planOfEpoch, rangesOf } from '../../../../core/epochs.ts'
import type { StripStep } from '../../../../core/policy.ts'
import { nextPlaces, NOTHING, type Draft, type Proposal } from '../draft.ts'

/** Takes the reasoning of finished steps out of view; see `StripStep`. */
export function stripReasoning(draft: Draft, { keep = 0 }: StripStep): Proposal {
  const to = endOfOlder(draft, keep)
  const places = nextPlaces(draft)
  const calling = new Set(draft.items.flatMap(({ kind, message }) => (kind === 'call' ? [message] : [])))
  const found: { place: number; reason: string }[] = []
  for (let index = 0; index < to; index++) {
    const item = draft.items[index]!
    if (item.kind !== 'reasoning' || !draft.mayStrip(item, calling.has(item.message))) continue
    const place = leadsTo(draft, places, index)
    if (place !== undefined) found.push({ place, reason: 'reasoning of a finished step' })
  }
  return found.length === 0 ? NOTHING : { edits: rangesOf(found, 'strip'), stored: new Map() }
}

/** Where the turns begin that keep their reasoning: the open step, the model's newest turn, and `keep` more. */
function endOfOlder({ items, openFrom }: Draft, keep: number): number {
  // The provider checks the thinking of the newest turn, whether its step is open or not.
  const kept = keep + (openFrom < items.length ? 0 : 1)
  const starts = [...items.keys()].filter(
    (i) => i < openFrom && items[i]!.role === 'assistant' && items[i - 1]?.role !== 'assistant',
  )
  return kept === 0 ? openFrom : (starts.at(-kept) ?? 0)
}

/** The chained item of the same message that a thought stands before. */
function leadsTo({ items, links }: Draft, places: Int32Array, index: number): number | undefined {
  const next = places[index]!
  return next >= 0 && items[links[next]!.index]!.message === items[index]!.message ? next : undefined
}

/** Indexes of the items that a proposal's strips take out. */
export function strippedIn({ items, links }: Draft, { edits }: Proposal): ReadonlySet<number> {
  const strips = edits.filter(({ op }) => op === 'strip')
  if (strips.length === 0) return new Set()
  const epoch = { id: '', count: links.length, edits: strips }
  const ids = new Set(planOfEpoch(epoch, items, links).map(({ id }) => id))
  return new Set([...items.keys()].filter((index) => ids.has(items[index]!.id)))
}
