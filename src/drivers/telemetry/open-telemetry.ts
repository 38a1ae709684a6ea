import { createRequire } from 'node:module'
import type { Meter, Tracer } from '@opentelemetry/api'
import type { EventSink } from '../../core/events.ts'
import type { PriceModel } from '../../core/price.ts'
import { callMetrics } from './call-metrics.ts'
import { callSpans } from './call-spans.ts'
import { endedCalls } from './calls.ts'
import type { OpenTelemetryApi, ProviderOf } from './types.ts'

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
