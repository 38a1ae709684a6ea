import type { NewTool } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import type { Written } from '../kit/body.ts'
import { argumentsOf, type Draft, type DraftTurn } from '../kit/writing.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  type: 'function',
  function: { name, description, parameters: { ...parameters } },
})

/** Writes a conversation that did not come from this wire. */
export function write(draft: Draft): Written {
  const { settings, sampling, toolChoice } = draft
  const mayCall = toolChoice?.mode !== 'none'
  if (toolChoice?.mode === 'required') draft.lose(undefined, 'a tool that must be called')
  const options = {
    num_ctx: settings.window,
    num_predict: settings.maxOutputTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop: sampling.stop,
  }
  const body = {
    model: settings.model,
    messages: [
      ...draft.head.map((content) => ({ role: 'system', content })),
      ...draft.turns.flatMap((turn) => messagesOf(draft, turn)),
    ],
    ...(draft.tools.length > 0 &&
      mayCall && { tools: draft.tools.map((tool) => ({ type: 'function', function: tool })) }),
    stream: settings.stream,
    options: Object.values(options).some((value) => value !== undefined) ? options : undefined,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

function messagesOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  if (role === 'tool') return items.map((item) => resultMessage(draft, item))
  const words: string[] = []
  const images: string[] = []
  for (const item of items) {
    if (item.kind !== 'call' && item.text !== '') words.push(item.text)
    for (const media of item.media ?? []) {
      if (media.type === 'image' && media.data !== undefined && role === 'user') images.push(media.data)
      else words.push(...[draft.omit(item, media)].filter((text) => text !== undefined))
    }
  }
  const calls = items
    .filter((item) => item.kind === 'call')
    .map((item) => ({ id: item.callId, function: { name: item.toolName ?? 'tool', arguments: argumentsOf(item) } }))
  if (words.length + images.length + calls.length === 0) return []
  return [
    {
      role,
      content: words.join('\n\n'),
      images: images.length > 0 ? images : undefined,
      tool_calls: calls.length > 0 ? calls : undefined,
    },
  ]
}

function resultMessage(draft: Draft, item: Item): Fields {
  for (const { type } of item.media ?? []) draft.lose(item, `${type} inside a tool result`)
  if (item.isError === true) draft.lose(item, 'the mark that a tool failed', 'minor')
  return { role: 'tool', tool_name: item.toolName ?? 'tool', tool_call_id: item.callId, content: item.text }
}
