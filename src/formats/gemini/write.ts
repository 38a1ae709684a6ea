import type { Conversation } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import type { Written } from '../kit/cross.ts'
import type { Fields } from '../../core/values.ts'
import { geminiChoice } from '../kit/tool-choice.ts'
import { argumentsOf, draftOf, isWebUrl, type Draft, type DraftTurn } from '../kit/writing.ts'

/** Gemini 3 refuses a call without a signature; this is what its documents name for calls of another model. */
export const FOREIGN_SIGNATURE = 'skip_thought_signature_validator'

/** Writes a conversation that came from another wire. */
export function writeGemini(conversation: Conversation): Written {
  const draft = draftOf(conversation)
  const { settings, sampling, toolChoice: choice } = draft
  if (choice?.single === true) draft.lose(undefined, 'the wish for one call at a time')
  const config = {
    maxOutputTokens: settings.maxOutputTokens,
    temperature: sampling.temperature,
    topP: sampling.topP,
    stopSequences: sampling.stop,
  }
  const functionDeclarations = draft.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }))
  const body = {
    systemInstruction: draft.head.length > 0 ? { parts: draft.head.map((text) => ({ text })) } : undefined,
    contents: draft.turns.flatMap((turn) => contentOf(draft, turn)),
    tools: functionDeclarations.length > 0 ? [{ functionDeclarations }] : undefined,
    toolConfig: choice === undefined || draft.tools.length === 0 ? undefined : geminiChoice(choice),
    generationConfig: Object.values(config).some((value) => value !== undefined) ? config : undefined,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

/** Neighbours of one role are one content: as many responses follow as there were calls. */
function contentOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  let isFirstCall = true
  const parts = items.flatMap((item): Fields[] => {
    if (role === 'system')
      draft.lose(item, 'the rank of an instruction inside the history; it is a user message now', 'minor')
    if (item.kind === 'call') {
      const functionCall = { id: item.callId, name: item.toolName ?? 'tool', args: argumentsOf(item) }
      const signature = isFirstCall ? { thoughtSignature: FOREIGN_SIGNATURE } : {}
      isFirstCall = false
      return [{ functionCall, ...signature }]
    }
    const media = (item.media ?? []).flatMap((part) => mediaPart(draft, item, part))
    if (item.kind !== 'result') return [...(item.text === '' ? [] : [{ text: item.text }]), ...media]
    const functionResponse = {
      id: item.callId,
      name: item.toolName ?? 'tool',
      response: { [item.isError === true ? 'error' : 'output']: item.text },
      ...(media.length > 0 && { parts: media }),
    }
    return [{ functionResponse }]
  })
  return parts.length === 0 ? [] : [{ role: role === 'assistant' ? 'model' : 'user', parts }]
}

function mediaPart(draft: Draft, item: Item, media: Media): Fields[] {
  const { mime, data, reference, name } = media
  const displayName = name === undefined ? {} : { displayName: name }
  if (data !== undefined && mime !== undefined) return [{ inlineData: { mimeType: mime, data, ...displayName } }]
  const isReachable = isWebUrl(reference) || reference?.startsWith('gs://') === true
  if (data === undefined && isReachable)
    return [{ fileData: { ...(mime !== undefined && { mimeType: mime }), fileUri: reference, ...displayName } }]
  const text = draft.omit(item, media)
  return text === undefined ? [] : [{ text }]
}
