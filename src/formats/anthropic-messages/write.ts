import type { NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import type { Written } from '../kit/body.ts'
import { anthropicChoice, argumentsOf, type Draft, type DraftTurn, isWebUrl } from '../kit/writing.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  name: string
  description: string
  input_schema: { type: 'object'; [key: string]: unknown }
}

export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  name,
  description,
  input_schema: { ...parameters, type: 'object' },
})

/** The wire wants a cap on the answer; this is what a request without one gets. */
const DEFAULT_MAX_TOKENS = 4096

/** Writes a conversation that did not come from this wire. */
export function write(draft: Draft): Written {
  const { settings, sampling } = draft
  const body = {
    model: settings.model,
    max_tokens: settings.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    system: draft.head.length > 0 ? draft.head.map((text) => ({ type: 'text', text })) : undefined,
    messages: messagesOf(draft),
    tools:
      draft.tools.length > 0
        ? draft.tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }))
        : undefined,
    tool_choice:
      draft.toolChoice !== undefined && draft.tools.length > 0 ? anthropicChoice(draft.toolChoice) : undefined,
    stream: settings.stream ? true : undefined,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop_sequences: sampling.stop,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

/** All results of a step stand in one user message, with what the user said after them. */
function messagesOf(draft: Draft): Fields[] {
  const messages: { role: 'user' | 'assistant'; content: Fields[] }[] = []
  for (const turn of draft.turns) {
    const role = turn.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(draft, turn)
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else if (blocks.length > 0) messages.push({ role, content: blocks })
  }
  return messages
}

function blocksOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  return items.flatMap((item): Fields[] => {
    if (role === 'system')
      draft.lose(item, 'the rank of an instruction inside the history; it is a user message now', 'minor')
    if (item.kind === 'call') {
      return [{ type: 'tool_use', id: item.callId, name: item.toolName ?? 'tool', input: argumentsOf(item) }]
    }
    const media = (item.media ?? []).flatMap((part) => mediaBlock(draft, item, part))
    const words = item.text === '' ? [] : [{ type: 'text', text: item.text }]
    if (item.kind !== 'result') return [...words, ...media]
    return [
      {
        type: 'tool_result',
        tool_use_id: item.callId,
        content: media.length > 0 ? [...words, ...media] : item.text,
        is_error: item.isError === true ? true : undefined,
      },
    ]
  })
}

function mediaBlock(draft: Draft, item: Item, media: Media): Fields[] {
  const { type, mime, data, reference, name } = media
  const isDocument = type === 'document' && (mime === undefined || mime === 'application/pdf')
  const source =
    data !== undefined && mime !== undefined
      ? { type: 'base64', media_type: mime, data }
      : isWebUrl(reference)
        ? { type: 'url', url: reference }
        : undefined
  if (source === undefined || (type !== 'image' && !isDocument) || item.role === 'assistant') {
    const text = draft.omit(item, media)
    return text === undefined ? [] : [{ type: 'text', text }]
  }
  return [{ type, source, title: isDocument && name !== undefined ? name : undefined }]
}
