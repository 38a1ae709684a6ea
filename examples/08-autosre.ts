/**
 * AutoSRE's two callbacks in the shape that Google ADK gives them: one after a tool, one before the model. The policy does what
 * `large_payload_handler.py`, `truncate_tool_output_callback`, `context_compactor.py` and `model_callbacks.py` did.
 *
 *   npx tsx examples/08-autosre.ts
 */
import { createPlimsoll } from 'plimsoll'
import { call, say, startReferee } from 'plimsoll/testing'

type Fields = Record<string, unknown>
interface Content {
  role: string
  parts: Fields[]
}

const MODEL = 'gemini-2.5-flash'
const vendor = await startReferee({
  wire: 'gemini',
  window: 200_000,
  script: ({ number }) => (number < 6 ? call('list_log_entries', { page: number }) : say('Node 7 has a full disk.')),
})
const plimsoll = createPlimsoll({ policy: 'autosre', store: 'memory:', artifacts: 'memory:' })
const session = plimsoll.session({ id: 'incident-7' })

/** In the place of `composite_after_tool_callback(tool, args, tool_context, tool_response)`. */
async function afterTool(tool: string, callId: string, response: Fields): Promise<Fields> {
  const shown = await session.toolResult({ tool, callId, output: JSON.stringify(response), model: MODEL })
  return JSON.parse(shown.text) as Fields
}

/** In the place of `before_model_callback(callback_context, llm_request)`. */
async function beforeModel(request: { contents: Content[]; tools: object[] }) {
  return session.prepare({ format: 'gemini', body: request, targets: [{ model: MODEL, window: 200_000 }] })
}

const contents: Content[] = [{ role: 'user', parts: [{ text: 'Why is the service slow?' }] }]
const tools = [{ functionDeclarations: [{ name: 'list_log_entries', description: 'Reads a page of the log.' }] }]
let items = 0
for (;;) {
  const turn = await beforeModel({ contents, tools })
  const url = `${vendor.url}/v1beta/models/${MODEL}:generateContent`
  const headers = { 'content-type': 'application/json', 'x-goog-api-key': 'none' }
  const answer = (await (await fetch(url, { method: 'POST', headers, body: turn.text })).json()) as {
    candidates: { content: Content }[]
  }
  await session.record({ turn: turn.id, format: 'gemini', response: answer })
  const { content } = answer.candidates[0]!
  contents.push(content)
  const calls = content.parts.flatMap(({ functionCall }) =>
    functionCall === undefined ? [] : [functionCall as Fields],
  )
  if (calls.length === 0) break
  const parts: Fields[] = []
  for (const { name, id } of calls) {
    const entries = Array.from({ length: 300 }, (_, line) => ({ severity: line % 9 === 0 ? 'ERROR' : 'INFO', line }))
    const response = await afterTool(String(name), String(id), { status: 'success', result: entries })
    items += (response['metadata'] as { original_items: number }).original_items
    parts.push({ functionResponse: { id, name, response } })
  }
  contents.push({ role: 'user', parts })
}
const { overflows, invalid } = vendor.summary()
console.log(`${overflows} overflows, ${invalid} invalid; ${items} log entries told as statistics`)
await plimsoll.close()
await vendor.close()
