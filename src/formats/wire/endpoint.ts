/** Reads a request's header by its name in lower case. */
export type HeaderReader = (name: string) => string | undefined

/** Where a wire is spoken, and what is needed to be heard there. */
export interface Endpoint {
  /** Its prefix in the proxy, and its name on the command line. */
  readonly name: string
  readonly label: string
  /** The vendor as OpenTelemetry's conventions for generative AI call it. @default its name */
  readonly provider?: string
  readonly url: string
  /** What SDKs expect their base URL to end with. */
  readonly sdkPath: string
  /** A server of one's own: it may not be there, and wants no key. */
  readonly isLocal: boolean
  /** Variables that may hold the key, the first one first. */
  readonly keys: readonly string[]
  /** Variables by which clients find another address, the first one first. */
  readonly bases: readonly string[]
  /** Headers that a key goes in; `variable` is the one that it was found in. */
  headers(key: string | undefined, variable?: string): Readonly<Record<string, string>>
  /** Headers that clients of this vendor send their credential in. */
  readonly credentials: readonly string[]
  /** The query parameter that may hold one. */
  readonly credentialQuery?: string
  readonly modelVariable: string
  /** Asked where nobody names a model; absent where nobody can know. */
  readonly model?: string
  /** Whether a model by this name is this vendor's. */
  owns(model: string): boolean
  /** Whether a path at the root of the proxy that is no model call means this vendor. */
  ownsPath(path: string, header: HeaderReader): boolean
  /** A window that is known better than by the model's name. */
  window?(env: Readonly<Record<string, string | undefined>>): number
  /** The base URL that variables of its own lead to. */
  base?(env: Readonly<Record<string, string | undefined>>, baseUrl: string | undefined): string
}

export const bearer = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` }
