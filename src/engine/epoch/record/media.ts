import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { Draft, StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import type { CallReader } from './arguments.ts'

/** Of pictures and documents in results, this many are listed, the newest, as far as there is room; the others are in the archive. */
const MOST = 20

/** One line for each picture or document that leaves with a result: what it was, where it came from, and its handle. */
export function mediaFrom(
  draft: Draft,
  folded: readonly number[],
  calls: CallReader,
  budget: number,
): { readonly text: string; readonly stored: ReadonlyMap<Handle, StoredText> } {
  const callOf = new Map<number, Item>()
  for (const [call, result] of draft.turns.answers) callOf.set(result, draft.items[call]!)
  const stored = new Map<Handle, StoredText>()
  const lines: string[] = []
  for (const index of folded) {
    const item = draft.items[index]!
    if (item.media === undefined || item.role === 'user') continue
    const call = callOf.get(index)
    const found = mediaLines(draft, item)
    for (const { handle, stored: file } of found.files) stored.set(handle, file)
    lines.push(...found.lines.map((line) => (call === undefined ? line : `${calls.callLine(call)}: ${line}`)))
  }
  if (lines.length === 0) return { text: '', stored }
  let left = budget
  const shown = lines.slice(-MOST)
  const first = shown.findLastIndex((line) => (left -= draft.countText(line) + 1) < 0) + 1
  if (first === shown.length) return { text: '', stored }
  return { text: `Pictures and documents that were seen:\n${shown.slice(first).join('\n')}`, stored }
}
