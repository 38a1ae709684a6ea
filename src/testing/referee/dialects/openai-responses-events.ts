import type { StreamEvent } from '../../../core/codec.ts'
import { type Fields, recordsIn, textOf } from '../../../core/values.ts'
import { pieces } from './pieces.ts'

type Emit = (type: string, fields: Fields) => void

/** A response as the events of its stream. Usage comes with the last one only; that is how this wire does it. */
export function responseEvents(response: Fields & { readonly output: readonly Fields[] }): StreamEvent[] {
  const events: StreamEvent[] = []
  const emit: Emit = (type, fields) => {
    events.push({ event: type, data: JSON.stringify({ type, sequence_number: events.length, ...fields }) })
  }
  const started = { ...response, status: 'in_progress', output: [], usage: null, incomplete_details: null }
  emit('response.created', { response: started })
  emit('response.in_progress', { response: started })
  response.output.forEach((item, output_index) => emitItem(emit, item, output_index))
  emit(response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response })
  return events
}

function emitItem(emit: Emit, item: Fields, output_index: number): void {
  const place = { item_id: item.id, output_index }
  if (item.type === 'function_call') {
    emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } })
    const text = textOf(item.arguments)
    for (const delta of pieces(text)) emit('response.function_call_arguments.delta', { ...place, delta })
    emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: text })
  } else if (item.type === 'reasoning') {
    emit('response.output_item.added', { output_index, item: { ...item, summary: [] } })
    recordsIn(item.summary).forEach((part, summary_index) => emitSummary(emit, { ...place, summary_index }, part))
  } else {
    emit('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } })
    recordsIn(item.content).forEach((part, content_index) => emitContent(emit, { ...place, content_index }, part))
  }
  emit('response.output_item.done', { output_index, item })
}

function emitSummary(emit: Emit, place: Fields, part: Fields): void {
  const text = textOf(part.text)
  emit('response.reasoning_summary_part.added', { ...place, part: { ...part, text: '' } })
  for (const delta of pieces(text)) emit('response.reasoning_summary_text.delta', { ...place, delta })
  emit('response.reasoning_summary_text.done', { ...place, text })
  emit('response.reasoning_summary_part.done', { ...place, part })
}

function emitContent(emit: Emit, place: Fields, part: Fields): void {
  const field = part.type === 'refusal' ? 'refusal' : 'text'
  const name = part.type === 'refusal' ? 'response.refusal' : 'response.output_text'
  const text = textOf(part[field])
  const logprobs = field === 'text' ? { logprobs: [] } : {}
  emit('response.content_part.added', { ...place, part: { ...part, [field]: '' } })
  for (const delta of pieces(text)) emit(`${name}.delta`, { ...place, delta, ...logprobs })
  emit(`${name}.done`, { ...place, [field]: text, ...logprobs })
  emit('response.content_part.done', { ...place, part })
}
