import type { Conversation, Loss } from './conversation.ts'
import type { Item } from './item.ts'
import type { Fields } from './values.ts'
import type { Usage } from './usage.ts'
import type { WireTraits } from './wire-traits.ts'

/** A replacement of one stretch of a text. `start === end` inserts. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Reads one wire format into items with their spans in the text, and splices edited items back into it. */
export interface Codec {
  readonly format: string
  readonly traits: WireTraits
  /** @throws PlimsollError with code `bad-input` for text that is no request of this wire. */
  decode(text: string): Conversation
  /** Untouched spans are byte-equal; `losses` is empty whenever the conversation came from this codec. */
  encode(conversation: Conversation): {
    readonly text: string
    readonly losses: readonly Loss[]
    /** What the conversation's own text was changed by, in order; absent where the text was written anew. */
    readonly splices?: readonly Splice[]
  }
  /** Members of the request as they were parsed, the wire's own names. For reading only. */
  fields(conversation: Conversation): Readonly<Record<string, unknown>>
  /** For an engine that remembers the bodies before; without it every body is read and written as a whole. */
  readonly incremental?: IncrementalCodec
  /** For wires whose provider keeps answers: how the history that it holds is written out. */
  readonly held?: HeldHistory
  /** The wire text that an item of this conversation was read from, exactly. */
  fragment(conversation: Conversation, item: Item): string
  /** The rules of the wire, run on a body. Empty means that the provider would take it. */
  check(body: unknown, options?: RuleOptions): readonly Violation[]
  /**
   * Sets cache marks in a body without any; absent where the wire has none. Undefined when the client set its own, or there is no place for one.
   */
  placeCacheMarks?(text: string, options?: MarkOptions): string | undefined
  /** Headers that the provider's own context management needs in a body; absent where the wire has none. */
  nativeHeaders?(body: unknown): Readonly<Record<string, string>>
  /** Reads a complete (not streamed) response body. */
  readResponse(body: unknown): ModelResponse
  /** A reducer over server-sent events. */
  stream(): StreamReducer
}

export interface HeldHistory {
  /** Whether the provider keeps the answer to a request, so that a later one can name it. */
  isKept(conversation: Conversation): boolean
  /** The items that a request brings, as the wire writes them; undefined where one stands only for what the provider holds. */
  itemsOf(conversation: Conversation): readonly string[] | undefined
  /** The text of the same request with a whole history in front of them, naming no earlier response. */
  writeOut(conversation: Conversation, earlier: readonly string[]): string | undefined
}

/** Reading and writing from where a body is new. It changes how long that takes, and no byte. */
export interface IncrementalCodec {
  /** What stands at the start of both bodies is not read again: those items are the very same objects, so that work done for them once can be found by them. */
  decode(text: string, before: Conversation | undefined): Conversation
  /** The messages of a request as they were parsed, by the index that items name. */
  messages(conversation: Conversation): readonly unknown[]
  /** Where a message ends in the text. */
  endOf(conversation: Conversation, message: number): number
  /** Where the list of messages stands in the text; undefined where there is none. */
  listIn(conversation: Conversation): { readonly start: number; readonly end: number } | undefined
  /** What the changes of a conversation's envelope alone make of its text, in order; undefined where they begin its messages anew. */
  envelope(conversation: Conversation): readonly Splice[] | undefined
  /** Members of a request with other messages in the place of its own. */
  withMessages(fields: Fields, messages: readonly unknown[]): Fields
}

export interface MarkOptions {
  /** Index of the message that an epoch inserted. */
  readonly summaryMessage?: number
}

export interface RuleOptions {
  /** Model-specific rules, e.g. prefix-bound thinking, apply when the model is known. */
  readonly model?: string
  /** Vendor sub-profile of a wire, e.g. `mistral` for nine-character ids. */
  readonly profile?: string
  /** Size of the body as it travels, for the wires that limit it. */
  readonly bytes?: number
}

/** A broken rule: its name, where in the body, and what the vendor says to it. */
export interface Violation {
  readonly rule: string
  readonly path: string
  readonly message: string
}

export type StopReason = 'end' | 'length' | 'tool-use' | 'refusal' | 'pause' | 'error' | 'unknown'

/** What the model answered, in our words. */
export interface ModelResponse {
  readonly id?: string
  readonly model?: string
  readonly items: readonly Item[]
  readonly stop: StopReason
  /** Absent when the provider said nothing: missing usage is not zero usage. */
  readonly usage?: Usage
  /** It says that tools of the provider's ran, although no item shows them: what they found is in its count and not in the request. */
  readonly ranHostedTools?: true
  /** Its items as a request would repeat them, on wires whose provider keeps answers; absent where one of them cannot be repeated. */
  readonly repeatable?: readonly string[]
}

/** Fed with the decoded `data:` payloads of a stream; the bytes pass on elsewhere, unchanged. */
export interface StreamReducer {
  /** Takes one event. Unknown events and keep-alives are ignored. */
  push(event: StreamEvent): void
  /** What has arrived so far, as a whole answer of the wire says it; complete once `done` is true. */
  body(): Fields
  /** The same, read. */
  response(): ModelResponse
  readonly done: boolean
  /** An error event inside the stream, as the provider worded it. */
  readonly error?: unknown
}

export interface StreamEvent {
  readonly event?: string
  readonly data: string
}
