import type { NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import type { Written } from '../kit/body.ts'
import { objectJson } from '../kit/editing.ts'
import { dataUrl } from '../kit/reading.ts'
import { chatChoice, type Draft, type DraftTurn, isWebUrl } from '../kit/writing.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  type: 'function',
  function: { name, description, parameters: { ...parameters } },
})

/** Reasoning models refuse `max_tokens`; many compatible servers know nothing else. */
export const capKey = (model: string): string =>
  /^(?:openai\/)?(?:o\d|gpt-[5-9])/.test(model) ? 'max_completion_tokens' : 'max_tokens'

/** Writes a conversation that did not come from this wire. */
export function write(draft: Draft): Written {
  const { settings, sampling } = draft
  const body = {
    model: settings.model,
    messages: [
      ...draft.head.map((content) => ({ role: 'system', content })),
      ...draft.turns.flatMap((turn) => messagesOf(draft, turn)),
    ],
    tools: draft.tools.length > 0 ? draft.tools.map((tool) => ({ type: 'function', function: tool })) : undefined,
    ...choiceOf(draft),
    [capKey(settings.model ?? '')]: settings.maxOutputTokens,
    // Without the option a streamed answer says nothing about its usage.
    ...(settings.stream && { stream: true, stream_options: { include_usage: true } }),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop: sampling.stop,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

/** A choice without tools is refused. */
const choiceOf = ({ toolChoice, tools }: Draft): Fields =>
  toolChoice === undefined || tools.length === 0
    ? {}
    : { tool_choice: chatChoice(toolChoice), parallel_tool_calls: toolChoice.single === true ? false : undefined }

function messagesOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  if (role === 'tool') return items.map((item) => resultMessage(draft, item))
  const parts = items
    .filter((item) => item.kind !== 'call')
    .flatMap((item) => [
      ...(item.text === '' ? [] : [{ type: 'text', text: item.text }]),
      ...(item.media ?? []).flatMap((part) => mediaPart(draft, item, part)),
    ])
  const calls = items
    .filter((item) => item.kind === 'call')
    .map((item) => ({
      id: item.callId,
      type: 'function',
      function: { name: item.toolName ?? 'tool', arguments: objectJson(item.text) },
    }))
  if (parts.length + calls.length === 0) return []
  const [only] = parts
  const content = parts.length === 0 ? null : parts.length === 1 && only?.type === 'text' ? only['text'] : parts
  return [{ role, content, tool_calls: calls.length > 0 ? calls : undefined }]
}

function resultMessage(draft: Draft, item: Item): Fields {
  for (const { type } of item.media ?? []) draft.lose(item, `${type} inside a tool result`)
  if (item.isError === true) draft.lose(item, 'the mark that a tool failed', 'minor')
  return { role: 'tool', tool_call_id: item.callId, content: item.text }
}

interface Part extends Fields {
  readonly type: string
}

function mediaPart(draft: Draft, item: Item, media: Media): Part[] {
  const { type, mime, data, reference, name } = media
  const isAnswer = item.role === 'assistant'
  if (!isAnswer && type === 'image' && data !== undefined)
    return [{ type: 'image_url', image_url: { url: dataUrl(mime ?? 'image/png', data) } }]
  if (!isAnswer && type === 'image' && isWebUrl(reference))
    return [{ type: 'image_url', image_url: { url: reference } }]
  if (!isAnswer && type === 'audio' && data !== undefined) {
    const format = mime === 'audio/mp3' || mime === 'audio/mpeg' ? 'mp3' : 'wav'
    return [{ type: 'input_audio', input_audio: { data, format } }]
  }
  if (!isAnswer && (type === 'document' || type === 'file') && data !== undefined) {
    const file = { filename: name ?? 'document.pdf', file_data: dataUrl(mime ?? 'application/pdf', data) }
    return [{ type: 'file', file }]
  }
  const text = draft.omit(item, media)
  return text === undefined ? [] : [{ type: 'text', text }]
}
