import type { Attributes, Meter } from '@opentelemetry/api'
import type { EventSink } from '../../core/events.ts'
import { errorType } from './call-spans.ts'
import type { EndedCall } from './calls.ts'
import type { ProviderOf } from './types.ts'

export interface CallMetrics {
  readonly onCall: (call: EndedCall) => void
  readonly onEvent: EventSink
}

const KINDS = ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const

/** The numbers of `/metrics` and of the spans, for an SDK to collect. Attributes are few and never name sessions or tenants. */
export function callMetrics(meter: Meter, providerOf: ProviderOf): CallMetrics {
  const usage = meter.createHistogram('gen_ai.client.token.usage', {
    description: 'Tokens of a call as the provider counted them.',
    unit: '{token}',
  })
  const duration = meter.createHistogram('gen_ai.client.operation.duration', {
    description: 'From the request that was ready to the end of its answer.',
    unit: 's',
  })
  const counter = (name: string, description: string, unit: string) => meter.createCounter(name, { description, unit })
  const tokens = counter('plimsoll.tokens', 'Tokens as the providers counted them, by kind.', '{token}')
  const cost = counter('plimsoll.cost', 'Cost of all calls with a known price.', 'USD')
  const saved = counter('plimsoll.saved_tokens', 'Tokens that requests had less than what clients sent.', '{token}')
  const net = meter.createUpDownCounter('plimsoll.net', {
    description: 'What calls would have cost without compaction, less what they cost.',
    unit: 'USD',
  })
  const refusals = counter('plimsoll.calls_refused', 'Calls without an answer: refused, failed or not sent.', '{call}')
  const missing = counter('plimsoll.usage_missing', 'Answers without usage.', '{call}')
  const load = meter.createHistogram('plimsoll.load_ratio', {
    description: 'Load of a request as a share of its limit.',
    unit: '1',
    advice: { explicitBucketBoundaries: [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1] },
  })
  const compactions = counter('plimsoll.compactions', 'Compactions, by whether they were forced.', '{compaction}')
  const removed = counter('plimsoll.compaction.tokens', 'Tokens that compactions took out of prompts.', '{token}')
  const offloaded = counter('plimsoll.offloaded', 'Results shown as preview and handle.', '{result}')
  const hidden = counter('plimsoll.offloaded.bytes', 'Bytes of those results that were not shown.', 'By')
  const overflows = counter(
    'plimsoll.overflows_recovered',
    'Overflows that were recovered without an error for the client.',
    '{overflow}',
  )

  const onCall: CallMetrics['onCall'] = ({ event, prepared, savedTokens, netUsd }) => {
    const provider = prepared === undefined ? undefined : providerOf(prepared.format)
    const about: Attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': event.model,
      ...(provider !== undefined && { 'gen_ai.provider.name': provider }),
    }
    const failed = event.type === 'call-refused' ? { 'error.type': errorType(event) } : {}
    if (event.durationMs !== undefined) duration.record(event.durationMs / 1000, { ...about, ...failed })
    if (event.type === 'call-refused') return refusals.add(1, { ...about, ...failed, 'plimsoll.refused_by': event.by })
    if (savedTokens > 0) saved.add(savedTokens, about)
    if (netUsd !== undefined) net.add(netUsd, about)
    if (event.type === 'usage-missing') return missing.add(1, about)
    usage.record(event.usage.input, { ...about, 'gen_ai.token.type': 'input' })
    usage.record(event.usage.output, { ...about, 'gen_ai.token.type': 'output' })
    for (const kind of KINDS) tokens.add(event.usage[kind], { ...about, 'plimsoll.token.kind': kind })
    cost.add(event.costUsd ?? 0, about)
  }

  const onEvent: EventSink = (event) => {
    if (event.type === 'request-prepared') load.record(event.load / Math.max(1, event.limit))
    else if (event.type === 'epoch-declared') {
      compactions.add(1, { 'plimsoll.forced': event.forced })
      removed.add(Math.max(0, Math.round(event.before - event.after)))
    } else if (event.type === 'item-offloaded') {
      offloaded.add(1)
      hidden.add(Math.max(0, event.originalBytes - event.shownBytes))
    } else if (event.type === 'overflow-recovered') overflows.add(1)
  }
  return { onCall, onEvent }
}
