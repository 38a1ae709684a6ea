import type { StreamEvent } from '../../src/core/codec.ts'
import type { Usage } from '../../src/core/usage.ts'
import { codecOf, type WireFormat } from '../../src/formats/registry.ts'

const bodyOf = (wire: WireFormat, reported: unknown): unknown =>
  wire === 'ollama-chat' ? reported : wire === 'gemini' ? { usageMetadata: reported } : { usage: reported }

/** What a wire reads of the usage that a whole answer reports. */
export const usageIn = (wire: WireFormat, reported: unknown): Usage | undefined =>
  codecOf(wire).readResponse(bodyOf(wire, reported)).usage

/** The same of a stream whose events report it one after another. */
export function usageInStream(wire: WireFormat, reports: readonly unknown[]): Usage | undefined {
  const stream = codecOf(wire).stream()
  for (const [at, reported] of reports.entries()) stream.push(eventOf(wire, reported, at === 0))
  return stream.response().usage
}

function eventOf(wire: WireFormat, reported: unknown, isFirst: boolean): StreamEvent {
  if (wire !== 'anthropic-messages') return { data: JSON.stringify(bodyOf(wire, reported)) }
  const event = isFirst
    ? { type: 'message_start', message: { usage: reported } }
    : { type: 'message_delta', delta: {}, usage: reported }
  return { event: event.type, data: JSON.stringify(event) }
}
