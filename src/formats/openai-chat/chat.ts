import { withAnswers, type ChatWire, type Entry } from '../wire/chat.ts'

export const chat: ChatWire = {
  body: ({ model, system, tools, entries, maxOutputTokens }, { isLocal }) =>
    JSON.stringify({
      model,
      stream: true,
      // Without it a stream says nothing about usage.
      stream_options: { include_usage: true },
      // The vendor's newer models want the longer name, and servers that imitate it know the shorter one.
      [isLocal ? 'max_tokens' : 'max_completion_tokens']: maxOutputTokens,
      tools: tools.map((tool) => ({ type: 'function', function: tool })),
      messages: [{ role: 'system', content: system }, ...withAnswers(entries).flatMap(messageOf)],
    }),
}

function messageOf(entry: Entry): readonly object[] {
  if (entry.type === 'user') return [{ role: 'user', content: entry.text }]
  if (entry.type === 'result') return [{ role: 'tool', tool_call_id: entry.callId, content: entry.text }]
  if (entry.text === '' && entry.calls.length === 0) return []
  const calls = entry.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return [
    {
      role: 'assistant',
      content: entry.text === '' ? null : entry.text,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}
