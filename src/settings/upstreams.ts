/** One place that requests may go to, as configured. */
export interface UpstreamConfig {
  readonly url: string
  /** Asks for this model instead of the client's. */
  readonly model?: string
  readonly window?: number
  /** The wire that it speaks, where that is not the client's; needs `model`, and a credential in `headers`. */
  readonly wire?: string
  /** Sent instead of the client's own, e.g. another credential. */
  readonly headers?: Readonly<Record<string, string>>
}

/** By prefix: one place, or several in the order in which they are tried. Only these are ever called. */
export type Upstreams = Readonly<Record<string, string | UpstreamConfig | readonly (string | UpstreamConfig)[]>>
