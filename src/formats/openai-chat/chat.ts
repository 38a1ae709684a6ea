import { withAnswers, type Entry } from '../wire/chat.ts'
import { listOf, recordOf, textOf, type ChatWire } from '../../surfaces/cli/chat/wires/wire.ts'

/** Chat completions: OpenAI and everything that speaks like it. */
export function openaiWire(options: { readonly capField: 'max_tokens' | 'max_completion_tokens' }): ChatWire {
  return {
    format: 'openai-chat',
    path: () => '/chat/completions',
    body: ({ model, system, tools, entries, maxOutputTokens }) =>
      JSON.stringify({
        model,
        stream: true,
        // Without it a stream says nothing about usage.
        stream_options: { include_usage: true },
        [options.capField]: maxOutputTokens,
        tools: tools.map((tool) => ({ type: 'function', function: tool })),
        messages: [{ role: 'system', content: system }, ...withAnswers(entries).flatMap(messageOf)],
      }),
    textIn: (event) => textOf(recordOf(recordOf(listOf(event['choices'])[0])?.['delta'])?.['content']),
  }
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
