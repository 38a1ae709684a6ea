import type { Attributes, Meter, Tracer } from '@opentelemetry/api'
import type { EventOf, EventSink } from '../../core/events.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { withoutUndefined } from '../../util/without-undefined.ts'
import { packageRequire } from '../../util/package-root.ts'

export type OpenTelemetryApi = typeof import('@opentelemetry/api')

/** The vendor whose API format a request has, as the semantic conventions call it. */
export type ProviderOf = (format: string) => string | undefined

/** A finished model call, with the decisions about its request. */
interface EndedCall {
  readonly event: EventOf<'usage-recorded'> | EventOf<'usage-missing'> | EventOf<'call-refused'>
  /** Absent for calls without a request of a client: summaries, extractions. */
  readonly prepared?: EventOf<'request-prepared'>
  readonly compaction?: EventOf<'epoch-declared'>
  readonly recovered: boolean
  /** Tokens that were removed from the client's request. */
  readonly savedTokens: number
  /** What the call would have cost without us, less its cost; a summary only costs. Absent where no price is known. */
  readonly netUsd?: number
}

/** The state of an agent between its calls. */
interface AgentState {
  compaction?: EventOf<'epoch-declared'>
  recovered?: boolean
}

/** The most open turns, and agents with a remembered call; no process has more. */
const MOST_KEPT = 10_000

/** Puts the events of each call together. */
function endedCalls(onEnd: (call: EndedCall) => void): EventSink {
  const agents = new BoundedMap<string, AgentState>(MOST_KEPT)
  const turns = new BoundedMap<string, Pick<EndedCall, 'prepared' | 'compaction'>>(MOST_KEPT)

  return (event) => {
    const { tenant, session } = event
    const name = JSON.stringify([tenant, session, event.agent])
    const agent = agents.get(name) ?? {}
    agents.set(name, agent, 1)
    if (event.type === 'epoch-declared') agent.compaction = event
    else if (event.type === 'overflow-recovered') agent.recovered = true
    else if (event.type === 'request-prepared') {
      turns.set(`${name} ${event.turn}`, { prepared: event, compaction: agent.compaction }, 1)
      agent.compaction = undefined
    } else if (event.type === 'usage-recorded' || event.type === 'usage-missing' || event.type === 'call-refused') {
      const turn = `${name} ${event.turn}`
      const { prepared, compaction } = turns.get(turn) ?? {}
      turns.delete(turn)
      const isAnswered = event.type !== 'call-refused'
      const recovered = agent.recovered === true && event.purpose === 'turn' && isAnswered
      if (recovered) agent.recovered = false
      const { removed = 0, savedUsd: netUsd } = event.type === 'usage-recorded' ? event : {}
      onEnd({ event, prepared, compaction, recovered, savedTokens: Math.max(0, removed), netUsd })
    }
  }
}

const KINDS = ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const

/** The numbers of `/metrics` and of the spans, for an SDK to collect. Attributes are few and never name sessions or tenants. */
function callMetrics(meter: Meter, providerOf: ProviderOf) {
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

  const onCall = ({ event, prepared, savedTokens, netUsd }: EndedCall): void => {
    const about = withoutUndefined({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': event.model,
      'gen_ai.provider.name': prepared && providerOf(prepared.format),
    })
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

/**
 * One span per model call, by the semantic conventions for generative AI. It is made when the call is over and begins when its request was
 * ready: whatever span is active then is its parent.
 */
function callSpans(
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

/** The error type of the conventions: the status, or our code, or `_OTHER`. */
const errorType = ({ status, code }: EventOf<'call-refused'>): string => code ?? String(status ?? '_OTHER')

/** What the answer says about the call. */
function answerOf(event: EndedCall['event']): Attributes {
  switch (event.type) {
    case 'usage-missing':
      return { 'plimsoll.usage_missing': true }
    case 'call-refused':
      return {
        'error.type': errorType(event),
        'plimsoll.refused_by': event.by,
        'http.response.status_code': event.status,
      }
    case 'usage-recorded':
      return {
        'gen_ai.usage.input_tokens': event.usage.input,
        'gen_ai.usage.output_tokens': event.usage.output,
        'gen_ai.usage.cache_read.input_tokens': event.usage.cacheRead,
        'gen_ai.usage.cache_creation.input_tokens': event.usage.cacheWrite,
        'gen_ai.usage.reasoning.output_tokens': event.usage.reasoning,
        'plimsoll.cost_usd': event.costUsd,
      }
  }
}

/** Names and numbers, never content. */
function attributesOf(call: EndedCall, providerOf: ProviderOf): Attributes {
  const { event, prepared, compaction, recovered, savedTokens, netUsd } = call
  return withoutUndefined({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': prepared && providerOf(prepared.format),
    'gen_ai.request.model': event.model,
    'gen_ai.conversation.id': event.session,
    'gen_ai.agent.name': event.agent,
    'plimsoll.tenant': event.tenant,
    'plimsoll.purpose': event.purpose,
    ...answerOf(event),
    'plimsoll.turn': prepared?.turn,
    'plimsoll.load': prepared && Math.round(prepared.load),
    'plimsoll.limit': prepared?.limit,
    'plimsoll.verdict': prepared?.verdict,
    'plimsoll.edits': prepared?.edits,
    'plimsoll.compaction': compaction?.epoch,
    'plimsoll.overflow_recovered': recovered ? true : undefined,
    'plimsoll.saved_tokens': savedTokens,
    'plimsoll.net_usd': netUsd,
  })
}

export interface TelemetryOptions {
  readonly providerOf: ProviderOf
  readonly version: () => string
  /** @default the installed package */
  readonly load?: () => OpenTelemetryApi
}

/** The global in which every copy of the API finds the registered SDK. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/**
 * Spans and metrics of model calls for the OpenTelemetry SDK that the program has registered. They are made from events, like all
 * other figures. Without an SDK nothing is loaded, and an event costs one check.
 */
export function openTelemetry(options: TelemetryOptions): EventSink {
  let sinks: readonly EventSink[] | undefined
  return (event) => {
    if (sinks === undefined) {
      if (!(REGISTERED in globalThis)) return
      // Errors are reported once.
      sinks = []
      sinks = connect(options)
    }
    for (const sink of sinks) sink(event)
  }
}

function connect({ load = installed, version, providerOf }: TelemetryOptions): readonly EventSink[] {
  const api = load()
  const tracer: Tracer = api.trace.getTracer('plimsoll', version())
  const meter: Meter = api.metrics.getMeter('plimsoll', version())
  const spans = callSpans(api, tracer, providerOf)
  const { onCall, onEvent } = callMetrics(meter, providerOf)
  const calls = endedCalls((call) => {
    spans(call)
    onCall(call)
  })
  return [calls, onEvent]
}

const installed = (): OpenTelemetryApi => packageRequire()('@opentelemetry/api') as OpenTelemetryApi
