import type { NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import type { Fields } from '../../core/values.ts'
import type { Written } from '../kit/body.ts'
import { objectJson } from '../kit/editing.ts'
import { dataUrl } from '../kit/reading.ts'
import { type Draft, type DraftTurn, isWebUrl, responsesChoice } from '../kit/writing.ts'

/** A tool in the request's list. */
export interface DeclaredTool {
  type: 'function'
  name: string
  description: string
  parameters: Record<string, unknown>
  strict: false
}

/** Left out, `strict` means true on this wire, and a strict schema must list every property as required. */
export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  type: 'function',
  name,
  description,
  parameters: { ...parameters },
  strict: false,
})

/** Writes a conversation that did not come from this wire. */
export function write(draft: Draft): Written {
  const { settings, sampling } = draft
  if (sampling.stop !== undefined) draft.lose(undefined, 'stop sequences')
  const body = {
    model: settings.model,
    instructions: draft.head.length > 0 ? draft.head.join('\n\n') : undefined,
    input: draft.turns.flatMap((turn) => elementsOf(draft, turn)),
    tools:
      draft.tools.length > 0 ? draft.tools.map((tool) => ({ type: 'function', ...tool, strict: false })) : undefined,
    ...choiceOf(draft),
    max_output_tokens: settings.maxOutputTokens,
    stream: settings.stream ? true : undefined,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    // The history is in the body, so nothing needs to be kept on the other side.
    store: false,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

const choiceOf = ({ toolChoice, tools }: Draft): Fields =>
  toolChoice === undefined || tools.length === 0
    ? {}
    : { tool_choice: responsesChoice(toolChoice), parallel_tool_calls: toolChoice.single === true ? false : undefined }

function elementsOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  if (role === 'tool') return items.map((item) => resultElement(draft, item))
  const elements: Fields[] = []
  let parts: Fields[] = []
  const close = (): void => {
    if (parts.length > 0)
      elements.push({ type: 'message', role: role === 'system' ? 'developer' : role, content: parts })
    parts = []
  }
  for (const item of items) {
    if (item.kind === 'call') {
      close()
      const { callId: call_id, toolName: name = 'tool' } = item
      elements.push({ type: 'function_call', call_id, name, arguments: objectJson(item.text) })
      continue
    }
    if (item.text !== '') {
      parts.push(
        role === 'assistant'
          ? { type: 'output_text', text: item.text, annotations: [] }
          : { type: 'input_text', text: item.text },
      )
    }
    for (const media of item.media ?? []) parts.push(...mediaPart(draft, item, media))
  }
  close()
  return elements
}

function resultElement(draft: Draft, item: Item): Fields {
  if (item.isError === true) draft.lose(item, 'the mark that a tool failed', 'minor')
  const media = (item.media ?? []).flatMap((part) => mediaPart(draft, item, part))
  const words = item.text === '' ? [] : [{ type: 'input_text', text: item.text }]
  const output = media.length > 0 ? [...words, ...media] : item.text
  return { type: 'function_call_output', call_id: item.callId, output }
}

function mediaPart(draft: Draft, item: Item, media: Media): Fields[] {
  const { type, mime, data, reference, name } = media
  if (item.role !== 'assistant') {
    if (type === 'image' && (data !== undefined || isWebUrl(reference))) {
      const image_url = data === undefined ? reference : dataUrl(mime ?? 'image/png', data)
      return [{ type: 'input_image', detail: 'auto', image_url }]
    }
    if ((type === 'document' || type === 'file') && data !== undefined) {
      const file_data = dataUrl(mime ?? 'application/pdf', data)
      return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data }]
    }
    if ((type === 'document' || type === 'file') && isWebUrl(reference))
      return [{ type: 'input_file', file_url: reference }]
  }
  const text = draft.omit(item, media)
  return text === undefined ? [] : [{ type: 'input_text', text }]
}
