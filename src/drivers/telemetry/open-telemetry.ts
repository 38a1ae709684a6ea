import { createRequire } from 'node:module'
import type { Attributes, Meter, Tracer } from '@opentelemetry/api'
import type { EventOf, EventSink, PlimsollEvent } from '../../core/events.ts'
import type { PriceModel } from '../../core/price.ts'
import { type ManagedCall, unmanagedCost } from '../../meter/index.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

export type OpenTelemetryApi = typeof import('@opentelemetry/api')

/** The vendor whose API format a request has, as the semantic conventions call it. */
export type ProviderOf = (format: string) => string | undefined

/** A model call that is over, with what was decided about its request. */
export interface EndedCall {
  readonly event: EventOf<'usage-recorded'> | EventOf<'usage-missing'> | EventOf<'call-refused'>
  /** Absent for calls that no request of a client stands behind: summaries, extractions. */
  readonly prepared?: EventOf<'request-prepared'>
  readonly compaction?: EventOf<'epoch-declared'>
  readonly recovered: boolean
  /** Tokens that the request had less than what the client sent. */
  readonly savedTokens: number
  /** What the call would have cost without us, less its cost; a summary only costs. Absent where no price is known. */
  readonly netUsd?: number
}

interface Pending {
  readonly prepared: EventOf<'request-prepared'>
  readonly compaction?: EventOf<'epoch-declared'>
}

/** Turns that are open at once, and agents whose last call is remembered; more than any process has. */
const MOST_KEPT = 10_000

/** Puts the events of each call together. */
function endedCalls(
  priceOf: (model: string) => PriceModel | undefined,
  onEnd: (call: EndedCall) => void,
): (event: PlimsollEvent) => void {
  const declared = new BoundedMap<string, EventOf<'epoch-declared'>>(MOST_KEPT)
  const recovered = new BoundedMap<string, true>(MOST_KEPT)
  const pending = new BoundedMap<string, Pending>(MOST_KEPT)
  const last = new BoundedMap<string, ManagedCall>(MOST_KEPT)

  function end(event: EndedCall['event']): void {
    const agent = agentOf(event)
    const open = event.turn === undefined ? undefined : pending.get(turnOf(agent, event.turn))
    if (event.turn !== undefined) pending.delete(turnOf(agent, event.turn))
    const { prepared, compaction } = open ?? {}
    const isAnswered = event.type !== 'call-refused'
    const savedTokens =
      prepared === undefined || !isAnswered ? 0 : Math.max(0, Math.round(prepared.original - prepared.load))
    const netUsd = event.type === 'usage-recorded' ? netOf(event, agent, savedTokens) : undefined
    const wasRecovered = recovered.get(agent) === true && event.purpose === 'turn' && isAnswered
    if (wasRecovered) recovered.delete(agent)
    onEnd({
      event,
      recovered: wasRecovered,
      savedTokens,
      ...(prepared !== undefined && { prepared }),
      ...(compaction !== undefined && { compaction }),
      ...(netUsd !== undefined && { netUsd }),
    })
  }

  function netOf(event: EventOf<'usage-recorded'>, agent: string, savedTokens: number): number | undefined {
    const { usage, costUsd, model, purpose, at } = event
    const price = priceOf(model)
    if (costUsd === undefined || price === undefined) return undefined
    if (purpose !== 'turn') return -costUsd
    const call: ManagedCall = { at, prompt: usage.input, original: usage.input + savedTokens, usage, costUsd }
    const unmanaged = unmanagedCost(call, last.get(agent), price)
    last.set(agent, call)
    return unmanaged - costUsd
  }

  return (event) => {
    const agent = agentOf(event)
    switch (event.type) {
      case 'epoch-declared':
        return declared.set(agent, event)
      case 'overflow-recovered':
        return recovered.set(agent, true)
      case 'request-prepared': {
        const compaction = declared.get(agent)
        declared.delete(agent)
        return pending.set(turnOf(agent, event.turn), {
          prepared: event,
          ...(compaction !== undefined && { compaction }),
        })
      }
      case 'usage-recorded':
      case 'usage-missing':
      case 'call-refused':
        return end(event)
      default:
        return undefined
    }
  }
}

const agentOf = ({ tenant, session, agent }: PlimsollEvent): string => JSON.stringify([tenant, session, agent])
const turnOf = (agent: string, turn: string): string => `${agent} ${turn}`

export interface CallMetrics {
  readonly onCall: (call: EndedCall) => void
  readonly onEvent: EventSink
}

const KINDS = ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const

/** The numbers of `/metrics` and of the spans, for an SDK to collect. Attributes are few and never name sessions or tenants. */
function callMetrics(meter: Meter, providerOf: ProviderOf): CallMetrics {
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

/** What the conventions call the kind of an error: the status, else our code, else their word for neither. */
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

export interface TelemetryOptions {
  readonly priceOf: (model: string) => PriceModel | undefined
  readonly providerOf: ProviderOf
  readonly version: () => string
  /** @default the installed package */
  readonly load?: () => OpenTelemetryApi
}

/** Where every copy of the API looks for the SDK that a program has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/**
 * Spans and metrics of model calls for whatever OpenTelemetry SDK the program has registered. Made of events like everything else that
 * counts. Until there is an SDK nothing is loaded, and an event costs one look.
 */
export function openTelemetry(options: TelemetryOptions): EventSink {
  let sinks: readonly EventSink[] | undefined
  return (event) => {
    if (sinks === undefined) {
      if (!(REGISTERED in globalThis)) return
      // Whatever goes wrong here is told once.
      sinks = []
      sinks = connect(options)
    }
    for (const sink of sinks) sink(event)
  }
}

function connect({ load = installed, version, priceOf, providerOf }: TelemetryOptions): readonly EventSink[] {
  const api = load()
  const tracer: Tracer = api.trace.getTracer('plimsoll', version())
  const meter: Meter = api.metrics.getMeter('plimsoll', version())
  const spans = callSpans(api, tracer, providerOf)
  const { onCall, onEvent } = callMetrics(meter, providerOf)
  const calls = endedCalls(priceOf, (call) => {
    spans(call)
    onCall(call)
  })
  return [calls, onEvent]
}

const installed = (): OpenTelemetryApi => createRequire(import.meta.url)('@opentelemetry/api') as OpenTelemetryApi
