/** Something that goes wrong on the way. */
export type Fault =
  | { readonly kind: 'throttle'; readonly retryAfterSeconds?: number; readonly message?: string }
  | { readonly kind: 'server-error'; readonly status?: number }
  | { readonly kind: 'overloaded' }
  /** No answer until the client gives up or the referee closes. */
  | { readonly kind: 'hang' }
  /** The connection breaks after this many events of a stream, or half of a whole answer. */
  | { readonly kind: 'cut-stream'; readonly afterEvents?: number }
  /** An error event in the middle of a stream that began with 200. */
  | { readonly kind: 'error-event'; readonly afterEvents?: number }
  /** A gateway in front refuses the body with a page of its own. */
  | { readonly kind: 'html-413' }
  /** The front of the prompt is dropped until it fits, without a word, as local servers do. */
  | { readonly kind: 'truncate-front' }

/** Which requests a fault hits: by their number from 1, all requests counted. */
export interface PlannedFault {
  readonly on: number | readonly number[] | 'every'
  readonly fault: Fault
}

export type FaultPlan = readonly PlannedFault[] | ((number: number) => Fault | undefined)
