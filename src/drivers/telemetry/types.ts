export type OpenTelemetryApi = typeof import('@opentelemetry/api')

/** The vendor whose API format a request has, as the semantic conventions call it. */
export type ProviderOf = (format: string) => string | undefined
