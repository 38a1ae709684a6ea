import { answerWriter, eventsOf, type AnswerEnd, type AnswerHead } from '../../../formats/wire/answers-index.ts'
import { formatSseEvent } from '../../../formats/framing/sse.ts'
import type { Answer } from './answer.ts'

export interface Saying extends AnswerHead {
  readonly text: string
  readonly stream: false | 'sse' | 'json-array'
}

/** A complete, valid answer of the client's own wire, said by us: what a `halt` looks like to an SDK. */
export function say(wire: string, saying: Saying, headers: Readonly<Record<string, string>> = {}): Answer {
  const { text, stream, ...head } = saying
  const writer = answerWriter(wire)
  const end: AnswerEnd = { parts: [{ kind: 'text', text }], stop: 'end' }
  if (stream === 'sse') {
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...headers },
      body: eventsOf(writer, head, end).map(formatSseEvent).join(''),
    }
  }
  const whole = writer.whole(head, end)
  return {
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(stream === 'json-array' ? [whole] : whole),
  }
}
