import type { Codec } from '../../core/codec.ts'
import type { NewTool } from '../../core/conversation.ts'
import type { Fields } from '../../core/values.ts'
import type { WireTraits } from '../../core/wire-traits.ts'
import type { Framing } from '../framing.ts'
import type { Answers } from './answer.ts'
import type { Draft } from '../kit/writing.ts'
import type { HiddenWire } from './steps.ts'

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
  /** Requests without a key are signed. @default they are sent as they are */
  readonly signing?: Signing
  readonly modelVariable: string
  /** Asked where no model is named; absent where there is no default. */
  readonly model?: string
  /** Whether a model by this name is this vendor's. @default none is */
  owns?(model: string): boolean
  /** Whether a path at the root of the proxy that is no model call means this vendor. @default none does */
  ownsPath?(path: string, header: HeaderReader): boolean
  /** A window that is known better than by the model's name. */
  window?(env: Readonly<Record<string, string | undefined>>): number
  /** The base URL that variables of its own lead to. */
  base?(env: Readonly<Record<string, string | undefined>>, baseUrl: string | undefined): string
}

/** How AWS's signatures are made for a service. */
export interface Signing {
  readonly service: string
  /** Whether an address is the service's own. */
  isAt(url: URL): boolean
  region(url: URL, env: Readonly<Record<string, string | undefined>>): string
}

export const bearer = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` }

/** What a path asks for. */
export interface RouteMatch {
  readonly action: 'generate' | 'count'
  /** Some paths name the model. */
  readonly model?: string
  /** Some paths ask for a stream; else the body does. */
  readonly stream?: StreamKind
}

/** Events in the wire's framing, or one JSON array of chunks. */
export type StreamKind = 'events' | 'json-array'

export interface Routes {
  match(pathname: string, query: string): RouteMatch | undefined
  /** Where model calls go, for a place that the client's own path means nothing to. */
  path(model: string, stream: boolean): string
  /** How the vendor answers the question for a token count. */
  counted(tokens: number): object
}

export function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Most wires send the history again with each request and know no binding of thinking. */
export const PLAIN_TRAITS: Pick<WireTraits, 'staleThinkingHeaders' | 'keepsAnswers' | 'compactsHistory'> = {
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}

/** Everything that is particular to one API format. Leaving a part out does not compile. */
export interface Wire {
  readonly id: string
  /** Reads and writes requests, reads answers, checks the rules; its `traits` are what engine and meter know of the wire. */
  readonly codec: Codec
  /** How a stream is cut into events. */
  readonly framing: Framing
  /** Answers and errors of ours in this wire's shape, and what its events say. */
  readonly answers: Answers
  /** How steps that the client never sees are put in and taken out. */
  readonly steps: HiddenWire
  /** A tool as an element of the request's list of tools. */
  readonly declare: (tool: NewTool) => object
  /** Writes a conversation that did not come from this wire: another wire's, or a chat of our own. */
  readonly write: (draft: Draft) => { readonly text: string }
  /** Collects what of an answer must be sent back exactly; absent where text and calls say it all. */
  readonly keeper?: () => { push(event: Fields): void; value(): unknown }
  /** Which paths ask for what. */
  readonly routes: Routes
  /** Where its vendor is. */
  readonly endpoint: Endpoint
  /** Others that speak this wire and that `plimsoll chat` knows by name. */
  readonly servers: readonly Endpoint[]
  /** How sure it is that a request body speaks this wire: 3 would be refused elsewhere, 2 has what only this wire has, 1 may be, 0 is another. */
  resembles(body: Fields): 0 | 1 | 2 | 3
}
