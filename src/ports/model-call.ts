import type { ModelResponse } from '../core/codec.ts'

/** One more request to the model at hand, complete and in its wire. */
export interface ModelCall {
  readonly body: string
  /** Headers that the body needs beside the client's own. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/**
 * Sends a request to where the request at hand goes, with its credentials, which are held for that request only. Promises: one call, no
 * retries of its own; rejects unless the provider answered with success. The answer is read, or given as its parsed body.
 */
export type SendToModel = (call: ModelCall) => Promise<ModelResponse | { readonly body: unknown }>
