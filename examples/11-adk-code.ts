/**
 * adk-code's `ContextManager` as a thin object: `AddItem` truncates and says when compaction is needed, `Compact` + `Replace` make it, and
 * `TruncateLog` names every cut.
 *
 *   npx tsx examples/11-adk-code.ts
 */
import { createPlimsoll } from 'plimsoll'

type ItemType = 'message' | 'tool_output'
interface Item {
  id: string
  type: ItemType
  content: string
}
interface ChatMessage {
  role: string
  content: string | null
}

const ErrCompactionNeeded = 'compaction needed'
const MODEL = 'gpt-4.1'
const TARGET = { model: MODEL, window: 32_000 }

function newContextManager(id: string) {
  const plimsoll = createPlimsoll({ policy: 'adk-code', store: 'memory:', artifacts: 'memory:' })
  const session = plimsoll.session({ id })
  let history: object[] = [{ role: 'user', content: 'Fix the login bug.' }]
  let view: ChatMessage[] = []
  let isNeeded = false
  const prepare = async (): Promise<void> => {
    const body = { model: MODEL, max_tokens: 1_000, messages: history }
    const turn = await session.prepare({ format: 'openai-chat', body, targets: [TARGET] })
    isNeeded = turn.report.newEpoch !== undefined
    view = (JSON.parse(turn.text) as { messages: ChatMessage[] }).messages
  }
  return {
    async AddItem({ id: callId, type, content }: Item): Promise<typeof ErrCompactionNeeded | undefined> {
      if (type === 'message') history.push({ role: 'user', content })
      else {
        const shown = await session.toolResult({
          tool: 'read_file',
          callId,
          output: content,
          model: MODEL,
          window: 32_000,
        })
        const tool_calls = [{ id: callId, type: 'function', function: { name: 'read_file', arguments: '{}' } }]
        history.push(
          { role: 'assistant', content: null, tool_calls },
          { role: 'tool', tool_call_id: callId, content: shown.text },
        )
      }
      await prepare()
      return isNeeded ? ErrCompactionNeeded : undefined
    },
    GetHistory: (): readonly ChatMessage[] => view,
    /** The compaction is on record already: what replaces the history is the view of it. */
    Replace(items: readonly ChatMessage[]): void {
      history = [...items]
    },
    async TokenInfo() {
      const { used, limit, turnsRemaining } = await session.status()
      return { UsedTokens: used, AvailableTokens: limit, PercentageUsed: used / limit, TurnsRemaining: turnsRemaining }
    },
    TruncateLog: async () =>
      (await session.audit()).filter((entry) => entry.type === 'audit').map(({ reason }) => reason),
    close: () => plimsoll.close(),
  }
}

const manager = newContextManager('session-1')
let compactions = 0
for (let i = 0; i < 60; i++) {
  const lines = Array.from({ length: 300 }, (_, line) => `${line}: const value${line} = ${line * i}`)
  const error = await manager.AddItem({ id: `c${i}`, type: 'tool_output', content: lines.join('\n') })
  if (error !== ErrCompactionNeeded) continue
  compactions++
  manager.Replace(manager.GetHistory())
}
const { PercentageUsed } = await manager.TokenInfo()
const cuts = await manager.TruncateLog()
console.log(`compacted: ${compactions > 0}; ${cuts.length} cuts; below 95 %: ${PercentageUsed < 0.95}`)
await manager.close()
