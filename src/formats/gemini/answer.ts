import type { StreamEvent, StopReason } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { FOREIGN_SIGNATURE } from './write.ts'
import {
  argumentsOf,
  begun,
  isCall,
  piece,
  PLAIN_ANSWERS,
  type AnswerHead,
  type AnswerPart,
  type AnswerPiece,
  type Answers,
  type AnswerWriter,
} from '../wire/answer.ts'
import { type Fields, listOf, recordOf } from '../../core/values.ts'

const STOPS: Partial<Record<StopReason, string>> = { length: 'MAX_TOKENS', refusal: 'SAFETY', error: 'OTHER' }
export const stopOf = (stop: StopReason): string => STOPS[stop] ?? 'STOP'

export const usageOf = (usage: Usage | undefined): Fields => ({
  promptTokenCount: usage?.input ?? 0,
  cachedContentTokenCount: (usage?.cacheRead ?? 0) > 0 ? usage!.cacheRead : undefined,
  candidatesTokenCount: (usage?.output ?? 0) - (usage?.reasoning ?? 0),
  thoughtsTokenCount: (usage?.reasoning ?? 0) > 0 ? usage!.reasoning : undefined,
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
  return { functionCall, thoughtSignature: isFirstCall ? FOREIGN_SIGNATURE : undefined }
}

function geminiWriter(): AnswerWriter {
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

function pieces(event: Fields): AnswerPiece[] {
  const candidate = recordOf(listOf((recordOf(event['response']) ?? event)['candidates'])[0])
  return listOf(recordOf(candidate?.['content'])?.['parts']).flatMap((value) => {
    const part = recordOf(value) ?? {}
    const call = recordOf(part['functionCall'])
    // Calls come whole, so each is a part of its own whatever came before it.
    if (call !== undefined) return begun('', call['id'], call['name'], JSON.stringify(call['args'] ?? {}))
    const kind = part['thought'] === true ? 'reasoning' : 'text'
    return piece(kind, kind, part['text'])
  })
}

const STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export const answers: Answers = {
  ...PLAIN_ANSWERS,
  writer: geminiWriter,
  pieces,
  isPreamble: ({ candidates }) => candidates === undefined,
  error: (status, _code, message) => ({
    error: { code: status, message, status: STATUS[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT') },
  }),
}
