import type { ModelResponse } from '../core/codec.ts'

/** An additional request to the same model, as complete wire text. */
export interface ModelCall {
  readonly body: string
  /** Headers that the body needs in addition to the client's. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/**
 * Sends a request to the upstream of the current request, with its credentials, which are kept for that request only. Promises: one call without
 * retries; rejects unless the provider answered with success. Returns a decoded answer, or its parsed body.
 */
export type SendToModel = (call: ModelCall) => Promise<ModelResponse | { readonly body: unknown }>
