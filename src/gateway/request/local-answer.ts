import { wireOf } from '../../formats/registry.ts'
import { eventsOf, type AnswerEnd, type AnswerHead } from '../../formats/wire/answer.ts'
import type { StreamKind } from '../../formats/wire/wire.ts'
import type { Answer } from './answer.ts'

export interface LocalAnswer extends AnswerHead {
  readonly text: string
  readonly stream: false | StreamKind
}

/** A complete, valid answer of the client's own wire, said by us: what a `halt` looks like to an SDK. */
export function localAnswer(wire: string, given: LocalAnswer, headers: Readonly<Record<string, string>> = {}): Answer {
  const { text, stream, ...head } = given
  const { answers, framing } = wireOf(wire)
  const writer = answers.writer()
  const end: AnswerEnd = { parts: [{ kind: 'text', text }], stop: 'end' }
  if (stream === 'events') {
    return {
      status: 200,
      headers: { 'content-type': framing.contentType, 'cache-control': 'no-cache', ...headers },
      body: eventsOf(writer, head, end).map(framing.write).join(''),
    }
  }
  const whole = writer.whole(head, end)
  return {
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(stream === 'json-array' ? [whole] : whole),
  }
}
