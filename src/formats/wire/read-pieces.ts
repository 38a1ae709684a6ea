import { parseEvent } from '../kit/pieces.ts'
import { arrayOf, numberOf, recordOf, stringOf, type Fields } from '../kit/reading.ts'

/** What one event adds to an answer. Pieces of one part share its key. */
export interface AnswerPiece {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly key: string
  readonly text: string
  readonly id?: string
  readonly name?: string
}

/** Reads the pieces off an event's data. Events that add nothing give none. */
export function readPieces(format: string, data: string): readonly AnswerPiece[] {
  const event = parseEvent(data)
  return event === undefined ? [] : (READERS[format]?.(event) ?? [])
}

const piece = (kind: AnswerPiece['kind'], key: string, text: unknown): AnswerPiece[] =>
  typeof text === 'string' && text !== '' ? [{ kind, key, text }] : []

const begun = (key: string, id: unknown, name: unknown, text = ''): AnswerPiece[] => [
  {
    kind: 'call',
    key,
    text,
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(typeof name === 'string' && name !== '' && { name }),
  },
]

function anthropic(event: Fields): AnswerPiece[] {
  const key = `block ${numberOf(event['index']) ?? 0}`
  const block = recordOf(event['content_block'])
  if (event['type'] === 'content_block_start') {
    if (block?.['type'] === 'tool_use') return begun(key, block['id'], block['name'])
    return piece('text', key, block?.['text'])
  }
  if (event['type'] !== 'content_block_delta') return []
  const delta = recordOf(event['delta']) ?? {}
  return [
    ...piece('text', key, delta['type'] === 'text_delta' ? delta['text'] : undefined),
    ...piece('reasoning', key, delta['thinking']),
    ...piece('call', key, delta['partial_json']),
  ]
}

function chat(event: Fields): AnswerPiece[] {
  const choice = recordOf(arrayOf(event['choices'])?.[0])
  const delta = recordOf(choice?.['delta']) ?? {}
  return [
    ...piece('reasoning', 'reasoning', delta['reasoning_content'] ?? delta['reasoning']),
    ...piece('text', 'text', delta['content']),
    ...piece('text', 'text', delta['refusal']),
    ...(arrayOf(delta['tool_calls']) ?? []).flatMap((value, at) => {
      const call = recordOf(value) ?? {}
      const body = recordOf(call['function']) ?? {}
      const key = `call ${numberOf(call['index']) ?? stringOf(call['id']) ?? at}`
      return begun(key, call['id'], body['name'], stringOf(body['arguments']) ?? '')
    }),
  ]
}

function responses(event: Fields): AnswerPiece[] {
  const type = stringOf(event['type']) ?? ''
  const key = `item ${numberOf(event['output_index']) ?? 0}`
  const item = recordOf(event['item'])
  if (type === 'response.output_item.added' && item?.['type'] === 'function_call') {
    return begun(key, item['call_id'], item['name'], stringOf(item['arguments']) ?? '')
  }
  if (type === 'response.output_text.delta' || type === 'response.refusal.delta')
    return piece('text', key, event['delta'])
  if (type === 'response.reasoning_summary_text.delta' || type === 'response.reasoning_text.delta') {
    return piece('reasoning', key, event['delta'])
  }
  return type === 'response.function_call_arguments.delta' ? piece('call', key, event['delta']) : []
}

function gemini(event: Fields): AnswerPiece[] {
  const candidate = recordOf(arrayOf((recordOf(event['response']) ?? event)['candidates'])?.[0])
  const parts = arrayOf(recordOf(candidate?.['content'])?.['parts']) ?? []
  return parts.flatMap((value) => {
    const part = recordOf(value) ?? {}
    const call = recordOf(part['functionCall'])
    // Calls come whole, so each is a part of its own whatever came before it.
    if (call !== undefined) return begun('', call['id'], call['name'], JSON.stringify(call['args'] ?? {}))
    const kind = part['thought'] === true ? 'reasoning' : 'text'
    return piece(kind, kind, part['text'])
  })
}

const READERS: Readonly<Record<string, (event: Fields) => AnswerPiece[]>> = {
  'anthropic-messages': anthropic,
  'openai-chat': chat,
  'openai-responses': responses,
  gemini,
}
