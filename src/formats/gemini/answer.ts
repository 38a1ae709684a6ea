import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { FOREIGN_SIGNATURE } from './write.ts'
import {
  argumentsOf,
  isCall,
  type AnswerHead,
  type AnswerPart,
  type AnswerWriter,
  type Fields,
} from '../wire/answer.ts'

const STOPS: Partial<Record<StopReason, string>> = { length: 'MAX_TOKENS', refusal: 'SAFETY', error: 'OTHER' }
const stopOf = (stop: StopReason): string => STOPS[stop] ?? 'STOP'

const usageOf = (usage: Usage | undefined): Fields => ({
  promptTokenCount: usage?.input ?? 0,
  ...((usage?.cacheRead ?? 0) > 0 && { cachedContentTokenCount: usage!.cacheRead }),
  candidatesTokenCount: (usage?.output ?? 0) - (usage?.reasoning ?? 0),
  ...((usage?.reasoning ?? 0) > 0 && { thoughtsTokenCount: usage!.reasoning }),
  totalTokenCount: (usage?.input ?? 0) + (usage?.output ?? 0),
})

const bodyOf = ({ id, model }: AnswerHead, parts: readonly Fields[], rest: Fields, usage: Fields = {}): Fields => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...rest }],
  ...usage,
  modelVersion: model,
  responseId: id,
})

/** The first call of an answer carries the signature; without one Gemini 3 would refuse it when it comes back. */
function partOf(part: AnswerPart, isFirstCall: boolean): Fields {
  if (part.kind === 'text') return { text: part.text }
  if (part.kind === 'reasoning') return { text: part.text, thought: true }
  const functionCall = { id: part.id, name: part.name, args: argumentsOf(part) }
  return { functionCall, ...(isFirstCall && { thoughtSignature: FOREIGN_SIGNATURE }) }
}

export function geminiWriter(): AnswerWriter {
  let calls = 0
  const chunk = (...args: Parameters<typeof bodyOf>): StreamEvent => ({ data: JSON.stringify(bodyOf(...args)) })
  return {
    shows: () => true,
    whole(head, { parts, stop, usage }) {
      const first = parts.find(isCall)
      const written = parts.map((part) => partOf(part, part === first))
      return bodyOf(head, written, { finishReason: stopOf(stop) }, { usageMetadata: usageOf(usage) })
    },
    begin: () => [],
    open: () => [],
    // Arguments travel whole on this wire.
    grow: (head, part, _index, piece) =>
      isCall(part) ? [] : [chunk(head, [partOf({ ...part, text: piece }, false)], {})],
    close: (head, part) => (isCall(part) ? [chunk(head, [partOf(part, calls++ === 0)], {})] : []),
    end: (head, { stop, usage }) => [
      chunk(head, [{ text: '' }], { finishReason: stopOf(stop) }, { usageMetadata: usageOf(usage) }),
    ],
  }
}
