import type { Attributes, Tracer } from '@opentelemetry/api'
import type { EventOf } from '../../core/events.ts'
import type { EndedCall } from './calls.ts'
import type { OpenTelemetryApi, ProviderOf } from './types.ts'

/**
 * One span per model call, by the semantic conventions for generative AI. It is made when the call is over and begins when its request was
 * ready: whatever span is active then is its parent.
 */
export function callSpans(
  { SpanKind, SpanStatusCode }: OpenTelemetryApi,
  tracer: Tracer,
  providerOf: ProviderOf,
): (call: EndedCall) => void {
  return (call) => {
    const { event, compaction } = call
    const span = tracer.startSpan(`chat ${event.model}`, {
      kind: SpanKind.CLIENT,
      startTime: event.at - (event.durationMs ?? 0),
      attributes: attributesOf(call, providerOf),
    })
    if (compaction !== undefined) {
      const { epoch, forced, reason, before, after, covered } = compaction
      span.addEvent(
        'plimsoll.compaction',
        {
          'plimsoll.compaction.id': epoch,
          'plimsoll.compaction.forced': forced,
          'plimsoll.compaction.reason': reason,
          'plimsoll.compaction.before': Math.round(before),
          'plimsoll.compaction.after': Math.round(after),
          'plimsoll.compaction.items': covered,
        },
        compaction.at,
      )
    }
    if (event.type === 'call-refused') span.setStatus({ code: SpanStatusCode.ERROR, message: refusalOf(event) })
    span.end(event.at)
  }
}

const refusalOf = ({ by, status, code }: EventOf<'call-refused'>): string => {
  if (by === 'plimsoll') return `not sent: ${code ?? 'refused'}`
  return status === undefined ? 'no answer' : `the provider answered ${status}`
}

/** What the conventions call the kind of an error: the status, else our code, else their word for neither. */
export const errorType = ({ status, code }: EventOf<'call-refused'>): string => code ?? String(status ?? '_OTHER')

/** What the answer says about the call. */
function answerOf(event: EndedCall['event']): Attributes {
  switch (event.type) {
    case 'usage-missing':
      return { 'plimsoll.usage_missing': true }
    case 'call-refused':
      return {
        'error.type': errorType(event),
        'plimsoll.refused_by': event.by,
        ...(event.status !== undefined && { 'http.response.status_code': event.status }),
      }
    case 'usage-recorded':
      return {
        'gen_ai.usage.input_tokens': event.usage.input,
        'gen_ai.usage.output_tokens': event.usage.output,
        'gen_ai.usage.cache_read.input_tokens': event.usage.cacheRead,
        'gen_ai.usage.cache_creation.input_tokens': event.usage.cacheWrite,
        'gen_ai.usage.reasoning.output_tokens': event.usage.reasoning,
        ...(event.costUsd !== undefined && { 'plimsoll.cost_usd': event.costUsd }),
      }
  }
}

/** Names and numbers, never content. */
function attributesOf(call: EndedCall, providerOf: ProviderOf): Attributes {
  const { event, prepared, compaction, recovered, savedTokens, netUsd } = call
  const provider = prepared === undefined ? undefined : providerOf(prepared.format)
  return {
    'gen_ai.operation.name': 'chat',
    ...(provider !== undefined && { 'gen_ai.provider.name': provider }),
    'gen_ai.request.model': event.model,
    'gen_ai.conversation.id': event.session,
    ...(event.agent !== undefined && { 'gen_ai.agent.name': event.agent }),
    'plimsoll.tenant': event.tenant,
    'plimsoll.purpose': event.purpose,
    ...answerOf(event),
    ...(prepared !== undefined && {
      'plimsoll.turn': prepared.turn,
      'plimsoll.load': Math.round(prepared.load),
      'plimsoll.limit': prepared.limit,
      'plimsoll.verdict': prepared.verdict,
      'plimsoll.edits': prepared.edits,
    }),
    ...(compaction !== undefined && { 'plimsoll.compaction': compaction.epoch }),
    ...(recovered && { 'plimsoll.overflow_recovered': true }),
    'plimsoll.saved_tokens': savedTokens,
    ...(netUsd !== undefined && { 'plimsoll.net_usd': netUsd }),
  }
}
