import type { Codec } from '../../core/codec.ts'
import type { NewTool } from '../../core/conversation.ts'
import type { Fields } from '../../core/values.ts'
import type { WireTraits } from '../../core/wire-traits.ts'
import type { Framing } from '../framing.ts'
import type { Answers } from './answer.ts'
import type { Draft } from '../kit/writing.ts'
import type { HiddenWire } from './steps.ts'

/** Reads a request header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

/** A vendor or server of a wire, and what is needed to call it. */
export interface Endpoint {
  /** Its prefix in the proxy, and its name on the command line. */
  readonly name: string
  readonly label: string
  /** The vendor's name in OpenTelemetry's conventions for generative AI. @default its name */
  readonly provider?: string
  readonly url: string
  /** The end of the base URL that SDKs expect. */
  readonly sdkPath: string
  /** A local server: it may not be running, and needs no key. */
  readonly isLocal: boolean
  /** Variables that may contain the key; the first one that is set counts. */
  readonly keys: readonly string[]
  /** Variables in which clients look for another address; the first one that is set counts. */
  readonly bases: readonly string[]
  /** The headers for a key; `variable` is where it was found. */
  headers(key: string | undefined, variable?: string): Readonly<Record<string, string>>
  /** Headers in which this vendor's clients send their credential. */
  readonly credentials: readonly string[]
  /** The query parameter that may contain a credential. */
  readonly credentialQuery?: string
  /** Requests without a key are signed. @default they are sent as they are */
  readonly signing?: Signing
  readonly modelVariable: string
  /** The model to use if none is named. */
  readonly model?: string
  /** Whether a model of this name is this vendor's. @default false */
  owns?(model: string): boolean
  /** Whether another path than a model call at the proxy's root belongs to this vendor. @default false */
  ownsPath?(path: string, header: HeaderReader): boolean
  /** The window, if it is known from elsewhere than the model's name. */
  window?(env: Readonly<Record<string, string | undefined>>): number
  /** The base URL, for vendors with variables of their own. */
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

/** The purpose of a path. */
export interface RouteMatch {
  readonly action: 'generate' | 'count'
  /** The model, if the path names one. */
  readonly model?: string
  /** Whether to stream, if the path says so; otherwise the body does. */
  readonly stream?: StreamKind
}

/** Events in the wire's framing, or one JSON array of chunks. */
export type StreamKind = 'events' | 'json-array'

export interface Routes {
  match(pathname: string, query: string): RouteMatch | undefined
  /** The path of model calls, for an upstream with another API format than the client's. */
  path(model: string, stream: boolean): string
  /** The vendor's answer to a request for a token count. */
  counted(tokens: number): object
}

export function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The traits of most wires: the history is sent with each request, and thinking is not bound. */
export const PLAIN_TRAITS: Pick<WireTraits, 'staleThinkingHeaders' | 'keepsAnswers' | 'compactsHistory'> = {
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}

/** Everything particular to one API format. A missing part does not compile. */
export interface Wire {
  readonly id: string
  /** Reads and writes requests, reads answers, checks the rules; its `traits` tell engine and meter about the wire. */
  readonly codec: Codec
  /** How a stream is split into events. */
  readonly framing: Framing
  /** Answers and errors in this wire's shape. */
  readonly answers: Answers
  /** How steps that the client never sees are added and removed. */
  readonly steps: HiddenWire
  /** A tool as an element of the request's list of tools. */
  readonly declare: (tool: NewTool) => object
  /** Writes a conversation that came from another wire or from our own chat. */
  readonly write: (draft: Draft) => { readonly text: string }
  /** Collects the parts of an answer that must be sent back unchanged; absent where text and calls are enough. */
  readonly keeper?: () => { push(event: Fields): void; value(): unknown }
  /** The paths of the wire and their purposes. */
  readonly routes: Routes
  /** The vendor's endpoint. */
  readonly endpoint: Endpoint
  /** Other servers of this wire, which `plimsoll chat` knows by name. */
  readonly servers: readonly Endpoint[]
  /** How likely a request body is of this wire: 3 if others would refuse it, 2 if it has members that no other wire has, 1 if it may be, 0 if it is not. */
  resembles(body: Fields): 0 | 1 | 2 | 3
}
