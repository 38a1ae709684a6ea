import * as fc from 'fast-check'
import type { Item } from '../../src/core/item.ts'

/** Items made by hand, for tests of the core that need no wire. */
export function item(id: string, fields: Partial<Item> & Pick<Item, 'kind'>): Item {
  const role = fields.kind === 'result' ? 'tool' : fields.kind === 'user' ? 'user' : 'assistant'
  return { id, role, text: `text of ${id}`, message: Number(id.replace(/\D/g, '')), ...fields }
}

const callId = fc.constantFrom('call_0', 'call_1', 'call_2', undefined)
const toolName = fc.constantFrom('bash', 'read', undefined)

/** One unordered thing of a history: the worst that clients and interrupted runs produce. */
const loose = fc.record({
  kind: fc.constantFrom(
    'user' as const,
    'assistant' as const,
    'reasoning' as const,
    'call' as const,
    'result' as const,
  ),
  callId,
  toolName,
  /** Joins the message of the item before it. */
  joins: fc.boolean(),
})

/** Any order of calls and results, ids repeated and missing, messages of any length. */
export const messyItems: fc.Arbitrary<readonly Item[]> = fc.array(loose, { maxLength: 24 }).map((list) => {
  let message = 0
  return list.map(({ kind, callId, toolName, joins }, i) => {
    if (i > 0 && !joins) message++
    const isTool = kind === 'call' || kind === 'result'
    return item(`i${i}`, {
      kind,
      message,
      ...(isTool && callId !== undefined && { callId }),
      ...(isTool && toolName !== undefined && { toolName }),
    })
  })
})
