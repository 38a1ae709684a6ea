import type { Edit, Plan } from './edits.ts'
import type { Item } from './item.ts'
import { turnsOf } from './turns.ts'

/**
 * A plan that was made for one transcript and moved to another may find a call and miss its rewritten result, or the other way
 * round. Whatever loses its other half leaves with it.
 */
export function withPairedDrops(plan: Plan, items: readonly Item[]): Plan {
  const dropped = new Map(plan.flatMap((edit) => (edit.op === 'drop' ? [[edit.id, edit.reason] as const] : [])))
  const added: Edit[] = []
  for (const [call, result] of turnsOf(items).answers) {
    const [callId, resultId] = [items[call]!.id, items[result]!.id]
    const reason = dropped.get(callId) ?? dropped.get(resultId)
    if (reason === undefined || (dropped.has(callId) && dropped.has(resultId))) continue
    added.push({ op: 'drop', id: dropped.has(callId) ? resultId : callId, reason })
  }
  if (added.length === 0) return plan
  const gone = new Set(added.map((edit) => edit.id))
  return [...plan.filter((edit) => edit.op !== 'replace' || !gone.has(edit.id)), ...added]
}
