import type { ItemSeen } from '../core/records.ts'
import { READER_TOOLS } from '../engine/readers/tools.ts'
import type { FoldedLog } from './fold-log.ts'
import type { HiddenRow } from './page-types.ts'

const EXCERPT = 4_000
const NAMES: ReadonlySet<string> = new Set(READER_TOOLS.map(({ name }) => name))

/**
 * Calls that the model made to tools of ours and that the client never saw, with what they answered. `agents` are those in whose answers
 * steps are hidden: another one that calls a reader has it from its client.
 */
export function hiddenRowsOf({ items }: FoldedLog, agents: ReadonlySet<string>): readonly HiddenRow[] {
  const isHidden = ({ agent = 'main', toolName = '' }: ItemSeen): boolean => agents.has(agent) && NAMES.has(toolName)
  const results = new Map(items.flatMap((item) => (item.kind === 'result' ? [[item.callId ?? '', item]] : [])))
  return items.flatMap((item) => {
    if (item.kind !== 'call' || !isHidden(item)) return []
    const result = results.get(item.callId ?? '')
    return {
      at: item.at,
      agent: item.agent ?? 'main',
      tool: item.toolName!,
      asked: item.text.slice(0, EXCERPT),
      ...(result !== undefined && { answered: result.text.slice(0, EXCERPT), identity: result.identity }),
    }
  })
}
