import type { NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import { type Fields, listOf, recordOf, recordsIn } from '../../core/values.ts'
import type { Written } from '../kit/body.ts'
import { argumentsOf, type Draft, type DraftTurn, geminiChoice, isWebUrl } from '../kit/writing.ts'

export interface FunctionDeclaration {
  name: string
  description: string
  parametersJsonSchema: Record<string, unknown>
}

/** A tool in the request's list: it holds any number of functions. */
export interface DeclaredTool {
  functionDeclarations: FunctionDeclaration[]
}

export const declareFunction = ({ name, description, parameters }: NewTool): FunctionDeclaration => ({
  name,
  description,
  parametersJsonSchema: { ...parameters },
})

export const declare = (tool: NewTool): DeclaredTool => ({ functionDeclarations: [declareFunction(tool)] })

/** Thought signatures ride on parts and must come back where they were. */
export function keeper(): { push(event: Fields): void; value(): unknown } {
  const parts: object[] = []
  return {
    push(event) {
      const content = recordOf(recordOf(listOf(event['candidates'])[0])?.['content'])
      parts.push(...recordsIn(content?.['parts']).filter((part) => part['thought'] !== true))
    },
    value: () => parts,
  }
}

/** Gemini 3 refuses a call without a signature; this is what its documents name for calls of another model. */
export const FOREIGN_SIGNATURE = 'skip_thought_signature_validator'

/** Writes a conversation that did not come from this wire. */
export function write(draft: Draft): Written {
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
    // What an answer of this wire was made of, kept for a chat of our own.
    if (item.kind === 'opaque') return JSON.parse(item.text) as Fields[]
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
      parts: media.length > 0 ? media : undefined,
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
  if (data === undefined && isReachable) return [{ fileData: { mimeType: mime, fileUri: reference, ...displayName } }]
  const text = draft.omit(item, media)
  return text === undefined ? [] : [{ text }]
}
