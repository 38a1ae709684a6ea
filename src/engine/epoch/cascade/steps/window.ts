import type { WindowStep } from '../../../../core/policy.ts'
import { NOTHING, type Draft, type Proposal } from '../draft.ts'
import { summaryPlace } from './fold.ts'
import { between, dropEdits, foldableIn, sizeOf } from '../zones.ts'

/**
 * A window over whole steps: from `size` on the oldest between the zones go until `target` of it is left. A line stands in their
 * place, so that nobody wonders where the history begins; the archive has all of it.
 */
export function slideWindow(draft: Draft, step: WindowStep): Proposal {
  const { unit, size, target = 0.9 } = step
  const have = sizeOf(draft, 0, draft.items.length, unit)
  if (have < size) return NOTHING
  // The line that stands for what went is a message too.
  const excess = have - Math.max(1, Math.floor(size * target)) + (unit === 'messages' ? 1 : 0)
  const { from, to } = between(draft, step)
  const dropped: number[] = []
  let freed = 0
  for (const { from: start, to: end } of draft.turns.steps) {
    if (freed >= excess) break
    if (start < from || end > to) continue
    const gone = foldableIn(draft, start, end)
    if (gone.length === 0) continue
    dropped.push(...gone)
    freed += sizeOf(draft, start, end, unit)
  }
  if (dropped.length === 0) return NOTHING
  const recall = draft.readers.get('recall')
  const text = `[${dropped.length} earlier items left the window; they are archived.${recall === undefined ? '' : ` Search them with ${recall}.`}]`
  const at = summaryPlace(draft, dropped[0]!, dropped.at(-1)! + 1)
  return {
    edits: [
      ...dropEdits(draft, dropped, `outside the window of ${size} ${unit}`),
      { op: 'insert', at, role: 'user', text, reason: `stands for ${dropped.length} items outside the window` },
    ],
    stored: new Map(),
  }
}
