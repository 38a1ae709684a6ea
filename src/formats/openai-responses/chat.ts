import { withAnswers, type ChatWire, type Entry } from '../wire/chat.ts'

export const chat: ChatWire = {
  body: ({ model, system, tools, entries, maxOutputTokens }) =>
    JSON.stringify({
      model,
      stream: true,
      store: false,
      max_output_tokens: maxOutputTokens,
      instructions: system,
      tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })),
      input: withAnswers(entries).flatMap(itemsOf),
    }),
}

function itemsOf(entry: Entry): readonly object[] {
  if (entry.type === 'user') return [{ role: 'user', content: entry.text }]
  if (entry.type === 'result') return [{ type: 'function_call_output', call_id: entry.callId, output: entry.text }]
  return [
    ...(entry.text === '' ? [] : [{ role: 'assistant', content: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    })),
  ]
}
