import type { Conversation, Loss } from './conversation.ts'
import type { Item } from './item.ts'
import type { Fields } from './values.ts'
import type { Usage } from './usage.ts'
import type { WireTraits } from './wire-traits.ts'

/** Reads one wire format into items with their spans in the text, and splices edited items back into it. */
export interface Codec {
  readonly format: string
  readonly traits: WireTraits
  /**
   * If `before` is given, the part that both bodies begin with is not read again: its items are the same objects, so that work cached by item is
   * found.
   * @throws PlimsollError with code `bad-input` for text that is no request of this wire.
   */
  decode(text: string, before?: Conversation): Conversation
  /** Untouched spans are byte-equal; `losses` is empty whenever the conversation came from this codec. */
  encode(conversation: Conversation): { readonly text: string; readonly losses: readonly Loss[] }
  /** Members of the request as they were parsed, the wire's own names. For reading only. */
  fields(conversation: Conversation): Readonly<Record<string, unknown>>
  /** For wires whose provider keeps answers: how the history that it holds is written out. */
  readonly providerHistory?: ProviderHistory
  /** The exact wire text that the item was read from. */
  fragment(conversation: Conversation, item: Item): string
  /** Checks a body against the wire's rules. Empty means that the provider would accept it. */
  check(body: unknown, options?: RuleOptions): readonly Violation[]
  /**
   * Sets cache marks in a body that has none. Undefined when the client set its own or no position allows one. Absent on wires without cache marks.
   */
  placeCacheMarks?(text: string, options?: MarkOptions): string | undefined
  /** Headers that the provider's own context management needs in a body; absent where the wire has none. */
  nativeHeaders?(body: unknown): Readonly<Record<string, string>>
  /** Reads a complete (not streamed) response body. */
  readResponse(body: unknown): ModelResponse
  /** A reducer over server-sent events. */
  stream(): StreamReducer
}

export interface ProviderHistory {
  /** Whether the provider keeps the answer to a request, so that a later one can name it. */
  isKept(conversation: Conversation): boolean
  /** The request's items as wire text; undefined when one of them refers to content that only the provider holds. */
  itemsOf(conversation: Conversation): readonly string[] | undefined
  /** The request's text with the earlier history in front of its items and without a reference to an earlier response. */
  writeOut(conversation: Conversation, earlier: readonly string[]): string | undefined
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

/** A broken rule: its name, the path in the body, and the vendor's message. */
export interface Violation {
  readonly rule: string
  readonly path: string
  readonly message: string
}

export type StopReason = 'end' | 'length' | 'tool-use' | 'refusal' | 'pause' | 'error' | 'unknown'

/** A model's answer as items. */
export interface ModelResponse {
  readonly id?: string
  readonly model?: string
  readonly items: readonly Item[]
  readonly stop: StopReason
  /** Absent when the provider reported none: missing usage is not zero usage. */
  readonly usage?: Usage
  /** The provider ran tools of its own that no item shows: their output is in its token count and not in the request. */
  readonly ranHostedTools?: true
  /** Its items as wire text for a request that repeats them, on wires whose provider keeps answers; absent when one cannot be repeated. */
  readonly repeatable?: readonly string[]
}

/** Reads the decoded `data:` payloads of a stream; the bytes are forwarded elsewhere, unchanged. */
export interface StreamReducer {
  /** Reads one event. Unknown events and keep-alives are ignored. */
  push(event: StreamEvent): void
  /** What has arrived so far, as a response body of the wire; complete once `done` is true. */
  body(): Fields
  /** `body()` as a `ModelResponse`. */
  response(): ModelResponse
  readonly done: boolean
  /** An error event inside the stream, as the provider worded it. */
  readonly error?: unknown
}

export interface StreamEvent {
  readonly event?: string
  readonly data: string
}
