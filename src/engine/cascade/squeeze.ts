import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import type { EpochEdit } from '../../core/records.ts'
import { canShed, shedItem } from './shed-media.ts'
import { linkPlaces, storedText, type Draft, type Proposal, type StoredText } from './draft.ts'

export interface SqueezeOptions {
  /** No item is shown with fewer tokens than this. */
  readonly floorTokens: number
}

interface Candidate {
  readonly item: Item
  readonly index: number
  readonly tokens: number
}

/**
 * Shows the largest items that are still in view as preview + handle, wherever they stand: open step and pasted user
 * messages included. "Never folded" is not "never shortened". Pictures cannot be shortened: those above the common height leave
 * whole, the oldest first, and only as many as it takes.
 */
export function squeeze(
  draft: Draft,
  excessTokens: number,
  gone: (index: number) => boolean,
  options: SqueezeOptions,
): Proposal {
  const places = linkPlaces(draft)
  const inView = draft.items
    .map((item, index) => ({ item, index, tokens: draft.tokensOf(item) }))
    .filter(({ index, tokens }) => places[index]! >= 0 && !gone(index) && tokens > options.floorTokens * 1.5)
  const { edits, stored, excess } = shedPictures(draft, excessTokens, inView, places, options)
  const texts = inView.filter(({ item }) => canShorten(item) && !holdsMedia(item)).sort((a, b) => b.tokens - a.tokens)
  const cap = excess <= 0 ? Infinity : levelFor(sizesOf(texts), excess, options.floorTokens)
  for (const { item, index, tokens } of texts) {
    if (tokens <= cap) break
    const handle = draft.handleOf(item.text)
    const text = draft.present(item.text, {
      budgetTokens: Math.max(options.floorTokens, Math.floor(cap * 0.9)),
      countTokens: draft.countText,
      handle,
      ...(item.toolName !== undefined && { tool: item.toolName }),
      readers: draft.readers,
    })
    if (draft.countText(text) >= tokens) continue
    edits.push({ op: 'replace', at: places[index]!, text, handle, reason: `${tokens} tokens shown as a preview` })
    stored.set(handle, storedText(item))
  }
  return { edits: edits.sort((a, b) => placeOfEdit(a) - placeOfEdit(b)), stored }
}

/** Takes out pictures as long as one of them stands above the height that everything else would be cut to. */
function shedPictures(
  draft: Draft,
  excessTokens: number,
  inView: readonly Candidate[],
  places: Int32Array,
  { floorTokens }: SqueezeOptions,
): { edits: EpochEdit[]; stored: Map<Handle, StoredText>; excess: number } {
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  let excess = excessTokens
  let left = inView.filter(({ item }) => canShorten(item) || holdsMedia(item))
  while (excess > 0 && !draft.asDesigned) {
    const cap = levelFor(sizesOf(left), excess, floorTokens)
    const oldest = left.find(({ item, tokens }) => holdsMedia(item) && tokens > cap)
    if (oldest === undefined) break
    const { edit, files } = shedItem(draft, oldest.index, places[oldest.index]!, 'the window')
    left = left.filter((candidate) => candidate !== oldest)
    const gain = oldest.tokens - draft.countText(edit.text)
    if (gain <= 0) continue
    edits.push(edit)
    for (const { handle, stored: file } of files) stored.set(handle, file)
    excess -= gain
  }
  return { edits, stored, excess }
}

const sizesOf = (candidates: readonly Candidate[]): number[] =>
  candidates.map(({ tokens }) => tokens).sort((a, b) => b - a)

const holdsMedia = (item: Item): boolean => item.media !== undefined && canShed(item)

const placeOfEdit = (edit: EpochEdit): number => (edit.op === 'drop' ? edit.from : edit.at)

/** The common height to cut the largest down to, so that together they give up the excess: like levelling a pile of sand. */
function levelFor(sizes: readonly number[], excess: number, floor: number): number {
  let level = sizes[0] ?? 0
  let freed = 0
  for (let n = 0; n < sizes.length; n++) {
    const next = Math.max(floor, sizes[n + 1] ?? floor)
    const gain = (level - next) * (n + 1)
    if (freed + gain >= excess) return Math.max(floor, level - (excess - freed) / (n + 1))
    freed += gain
    level = next
  }
  return floor
}

function canShorten(item: Item): boolean {
  if (item.sealed === true || item.serverSide === true) return false
  return item.kind === 'result' || item.kind === 'user' || item.kind === 'assistant'
}
