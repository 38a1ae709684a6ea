import { createRequire } from 'node:module'
import type { Attributes, Tracer } from '@opentelemetry/api'
import type { EventOf, EventSink } from '../../core/events.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { withoutUndefined } from '../../util/without-undefined.ts'

export type OpenTelemetryApi = typeof import('@opentelemetry/api')

/** The vendor whose API format a request has, as the semantic conventions call it. */
export type ProviderOf = (format: string) => string | undefined

/** A model call that is over, with what was decided about its request. */
interface EndedCall {
  readonly event: EventOf<'usage-recorded'> | EventOf<'usage-missing'> | EventOf<'call-refused'>
  /** Absent for calls without a request of a client: summaries, extractions. */
  readonly prepared?: EventOf<'request-prepared'>
  readonly compaction?: EventOf<'epoch-declared'>
  readonly recovered: boolean
  /** Tokens that the request had less than what the client sent. */
  readonly savedTokens: number
}

/** What is known of an agent between its calls. */
interface AgentState {
  compaction?: EventOf<'epoch-declared'>
  recovered?: boolean
}

/** Turns that are open at once, and agents whose last call is remembered; more than any process has. */
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
      const saved = prepared === undefined || !isAnswered ? 0 : Math.round(prepared.original - prepared.load)
      const savedTokens = Math.max(0, saved)
      const recovered = agent.recovered === true && event.purpose === 'turn' && isAnswered
      if (recovered) agent.recovered = false
      onEnd({ event, prepared, compaction, recovered, savedTokens })
    }
  }
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
  const { event, prepared, compaction, recovered, savedTokens } = call
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
  })
}

export interface TelemetryOptions {
  readonly providerOf: ProviderOf
  readonly version: () => string
  /** @default the installed package */
  readonly load?: () => OpenTelemetryApi
}

/** Where every copy of the API looks for the SDK that a program has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/**
 * Spans of model calls for whatever OpenTelemetry SDK the program has registered. Made of events like everything else that counts. Until
 * there is an SDK nothing is loaded, and an event costs one look.
 */
export function openTelemetry({ load = installed, version, providerOf }: TelemetryOptions): EventSink {
  let sink: EventSink | undefined
  return (event) => {
    if (sink === undefined) {
      if (!(REGISTERED in globalThis)) return
      // Whatever goes wrong here is told once.
      sink = () => undefined
      const api = load()
      sink = endedCalls(callSpans(api, api.trace.getTracer('plimsoll', version()), providerOf))
    }
    sink(event)
  }
}

const installed = (): OpenTelemetryApi => createRequire(import.meta.url)('@opentelemetry/api') as OpenTelemetryApi
