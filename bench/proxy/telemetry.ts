/** An OpenTelemetry SDK as a program registers it, whose exporters keep nothing: what is measured is the telemetry itself. */
import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'

const SUCCESS = { code: 0 }
const spans: SpanExporter = { export: (_, done) => done(SUCCESS), shutdown: async () => undefined }
const values: PushMetricExporter = {
  export: (_, done) => done(SUCCESS),
  selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
}

trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(spans)] }))
metrics.setGlobalMeterProvider(
  new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: values })] }),
)
