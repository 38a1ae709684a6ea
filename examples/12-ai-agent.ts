/**
 * ai-agent's configuration as it is written, and the callbacks of its guard and of its tool budget.
 *
 *   npx tsx examples/12-ai-agent.ts
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPlimsoll } from 'plimsoll'
import { loadConfig, optionsOf } from 'plimsoll/config'

const file = join(mkdtempSync(join(tmpdir(), 'ai-agent-')), 'ai-agent.yaml')
writeFileSync(
  file,
  `providers:
  openai:
    contextWindow: 128000
    models:
      gpt-4-turbo: { contextWindow: 32000, maxOutputTokens: 4096, tokenizer: "tiktoken:cl100k_base" }
defaults:
  toolResponseMaxBytes: 12288
`,
)
const plimsoll = createPlimsoll({ ...optionsOf(await loadConfig(file)), store: 'memory:', artifacts: 'memory:' })
const session = plimsoll.session({ id: 'report-1' })
const REPORT = 'agent__final_report'
const declare = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
const messages: object[] = [{ role: 'user', content: 'Report on the outage.' }]

/** `evaluate`: ok, or the final turn. */
async function evaluate() {
  const body = { model: 'gpt-4-turbo', messages, tools: [declare('search'), declare(REPORT)] }
  const target = { model: 'gpt-4-turbo', provider: 'openai' }
  const turn = await session.prepare({ format: 'openai-chat', body, targets: [target] })
  const { tools } = JSON.parse(turn.text) as { tools: { function: { name: string } }[] }
  return { status: turn.verdict.kind, limit: turn.limit.tokens, tools: tools.map((tool) => tool.function.name) }
}

const first = await evaluate()
let ran = 0
// `canExecuteTool`, then the tool, then `reserveToolOutput`: what has no room left is a handle, and no further tool runs.
while ((await session.canExecute('search')).ok && ran < 40) {
  const id = `c${ran++}`
  const output = `page ${ran}: the cache of node ${ran % 7} was cold. `.repeat(200)
  const shown = await session.toolResult({ tool: 'search', callId: id, output })
  const tool_calls = [{ id, type: 'function', function: { name: 'search', arguments: '{}' } }]
  messages.push(
    { role: 'assistant', content: null, tool_calls },
    { role: 'tool', tool_call_id: id, content: shown.text },
  )
  if ((await evaluate()).status === 'final') break
}
const last = await evaluate()
const report = await session.canExecute(REPORT)
console.log(
  `limit ${first.limit}: ${first.status} with ${first.tools.length} tools, then ${last.status} with ${last.tools.join()}; the report runs: ${report.ok}`,
)
await plimsoll.close()
