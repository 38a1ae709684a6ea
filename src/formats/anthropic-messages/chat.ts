import { runsOf, withAnswers, type ChatWire, type Entry } from '../wire/chat.ts'

// Everything before a mark is cached. The newest message carries one, so that the next request reads this one from the cache.
const MARK = { cache_control: { type: 'ephemeral' } }

export const chat: ChatWire = {
  body({ model, system, tools, entries, maxOutputTokens }) {
    const messages = runsOf(withAnswers(entries)).map((run) => ({
      role: run[0]!.type === 'assistant' ? 'assistant' : 'user',
      content: run.flatMap(blocksOf),
    }))
    const newest = messages.at(-1)?.content
    if (newest !== undefined && newest.length > 0) newest[newest.length - 1] = { ...newest.at(-1), ...MARK }
    return JSON.stringify({
      model,
      max_tokens: maxOutputTokens,
      stream: true,
      system: [{ type: 'text', text: system, ...MARK }],
      tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
      messages,
    })
  },
}

function blocksOf(entry: Entry): Record<string, unknown>[] {
  if (entry.type === 'user') return [{ type: 'text', text: entry.text }]
  if (entry.type === 'result') {
    const { callId, text, isError } = entry
    return [{ type: 'tool_result', tool_use_id: callId, content: text, ...(isError && { is_error: true }) }]
  }
  return [
    ...(entry.text === '' ? [] : [{ type: 'text', text: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
  ]
}
