import type { StreamEvent, StopReason } from '../../../core/codec.ts'
import type { Usage } from '../../../core/usage.ts'
import { fieldOf } from '../../../formats/gemini/parts.ts'
import { type Fields, isRecord } from '../../../core/values.ts'
import { stopOf } from '../brain.ts'
import type { RenderContext, Rendered } from '../types.ts'
import { sealedText } from './gemini-verify.ts'
import { pieces } from './pieces.ts'

const STOPS: Record<StopReason, string> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  // Calls end with STOP on this wire; the parts tell.
  'tool-use': 'STOP',
  refusal: 'SAFETY',
  pause: 'STOP',
  error: 'OTHER',
  unknown: 'FINISH_REASON_UNSPECIFIED',
}

export function renderGemini(context: RenderContext): Rendered {
  const { usage, facts } = context
  const parts = partsFor(context)
  const finishReason = STOPS[stopOf(context.answer)]
  const tail = { modelVersion: facts.model, responseId: context.id('resp') }
  const reported = usage === undefined ? {} : { usageMetadata: usageOf(usage) }
  const body = { candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }], ...reported, ...tail }
  return { body, events: eventsOf(context, parts, finishReason, tail) }
}

function partsFor(context: RenderContext): Fields[] {
  const { answer, issuer, id } = context
  let signed = false
  return answer.parts.flatMap((part, index): Fields[] => {
    if (part.type === 'reasoning') return showsThoughts(context.body) ? [{ text: part.text, thought: true }] : []
    if (part.type !== 'call') return part.text === '' ? [] : [{ text: part.text }]
    const call = { functionCall: { id: part.id ?? id('call', index), name: part.name, args: part.input } }
    // Only the first call of a step is signed; its parallel siblings are not.
    if (signed) return [call]
    signed = true
    return [{ ...call, thoughtSignature: issuer.seal(sealedText(call)) }]
  })
}

function showsThoughts(body: Fields): boolean {
  const config = fieldOf(body, 'generationConfig', 'generation_config')
  const thinking = isRecord(config) ? fieldOf(config, 'thinkingConfig', 'thinking_config') : undefined
  return isRecord(thinking) && fieldOf(thinking, 'includeThoughts', 'include_thoughts') === true
}

/** Gemini's cached tokens are part of the prompt; its thoughts stand beside the candidates. */
const usageOf = (usage: Usage): Fields => ({
  promptTokenCount: usage.input,
  ...(usage.cacheRead > 0 && { cachedContentTokenCount: usage.cacheRead }),
  candidatesTokenCount: usage.output - usage.reasoning,
  ...(usage.reasoning > 0 && { thoughtsTokenCount: usage.reasoning }),
  totalTokenCount: usage.input + usage.output,
})

function eventsOf(context: RenderContext, parts: readonly Fields[], finishReason: string, tail: Fields): StreamEvent[] {
  const { usage, usageAtEnd } = context
  const small = parts.flatMap((part) =>
    typeof part.text === 'string' ? pieces(part.text).map((text) => ({ ...part, text })) : [part],
  )
  const early =
    usage === undefined || usageAtEnd
      ? {}
      : { usageMetadata: { promptTokenCount: usage.input, totalTokenCount: usage.input } }
  const late = usage === undefined ? {} : { usageMetadata: usageOf(usage) }
  const chunk = (fields: Fields, reported: Fields): StreamEvent => ({
    data: JSON.stringify({ candidates: [{ ...fields, index: 0 }], ...reported, ...tail }),
  })
  return [
    ...small.map((part) => chunk({ content: { role: 'model', parts: [part] } }, early)),
    chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason }, late),
  ]
}
