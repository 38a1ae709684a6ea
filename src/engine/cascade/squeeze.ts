import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import type { EpochEdit } from '../../core/records.ts'
import { linkPlaces, storedText, type Draft, type Proposal, type StoredText } from './draft.ts'

export interface SqueezeOptions {
  /** No item is shown with fewer tokens than this. */
  readonly floorTokens: number
}

/**
 * Shows the largest items that are still in view as preview + handle, wherever they stand: open step and pasted user
 * messages included. "Never folded" is not "never shortened".
 */
export function squeeze(
  draft: Draft,
  excessTokens: number,
  gone: (index: number) => boolean,
  options: SqueezeOptions,
): Proposal {
  const places = linkPlaces(draft)
  const candidates = draft.items
    .map((item, index) => ({ item, index, tokens: draft.tokensOf(item) }))
    .filter(
      ({ item, index, tokens }) =>
        places[index]! >= 0 && !gone(index) && canShorten(item) && tokens > options.floorTokens * 1.5,
    )
    .sort((a, b) => b.tokens - a.tokens)
  const cap = levelFor(
    candidates.map((candidate) => candidate.tokens),
    excessTokens,
    options.floorTokens,
  )
  const edits: EpochEdit[] = []
  const stored = new Map<Handle, StoredText>()
  for (const { item, index, tokens } of candidates) {
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
