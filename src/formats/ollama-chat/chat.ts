import { withAnswers, type ChatWire, type Entry } from '../wire/chat.ts'

export const chat: ChatWire = {
  body: ({ model, system, tools, entries, maxOutputTokens }) =>
    JSON.stringify({
      model,
      stream: true,
      options: { num_predict: maxOutputTokens },
      tools: tools.map((tool) => ({ type: 'function', function: tool })),
      messages: [{ role: 'system', content: system }, ...withAnswers(entries).flatMap(messageOf)],
    }),
}

function messageOf(entry: Entry): readonly object[] {
  if (entry.type === 'user') return [{ role: 'user', content: entry.text }]
  if (entry.type === 'result') {
    return [{ role: 'tool', tool_name: entry.name, tool_call_id: entry.callId, content: entry.text }]
  }
  if (entry.text === '' && entry.calls.length === 0) return []
  const calls = entry.calls.map(({ id, name, input }) => ({ id, function: { name, arguments: input } }))
  return [{ role: 'assistant', content: entry.text, ...(calls.length > 0 && { tool_calls: calls }) }]
}
