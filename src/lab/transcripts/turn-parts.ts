import { PlimsollError } from '../../core/errors.ts'
import type { Part, RecordedTurn, WireMessage } from './recording.ts'
import type { Rendered } from './shapes/shape.ts'

export const isNotReasoning = (part: Part): boolean => part.kind !== 'reasoning'
/** A call that a result message must answer; the provider answers its own. */
export const isOwedCall = (part: Part): boolean => part.kind === 'call' && part.serverSide !== true

/** Calls of an answer that nothing since has answered. */
export function unanswered(answer: readonly Part[], since: readonly Part[]): readonly Part[] {
  const answered = new Set(since.filter((part) => part.kind === 'result').map((part) => part.callId))
  return answer.filter((part) => isOwedCall(part) && !answered.has(part.callId))
}

export function lazyMessage(rendered: Rendered, line: number): WireMessage {
  let text: string | undefined
  const { role, parts } = rendered
  return { role, parts, line, json: () => (text ??= write(rendered)) }
}

export function turnOf(parts: readonly Part[]): RecordedTurn {
  const textOf = (kind: Part['kind']) =>
    parts
      .filter((part) => part.kind === kind)
      .map((part) => part.text)
      .join('\n')
  return {
    parts,
    text: textOf('assistant'),
    reasoning: textOf('reasoning'),
    calls: parts.filter((part) => part.kind === 'call'),
  }
}

/** Reading JSON takes any depth, writing it does not. */
function write(rendered: Rendered): string {
  try {
    return JSON.stringify(rendered.value())
  } catch (cause) {
    throw new PlimsollError('bad-input', 'A recorded message is nested too deep to be written.', { cause })
  }
}
