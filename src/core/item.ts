export type ItemKind = 'instruction' | 'user' | 'assistant' | 'reasoning' | 'call' | 'result' | 'media' | 'opaque'

export type Role = 'system' | 'user' | 'assistant' | 'tool'

/** A picture, document, sound or file, inside an item or as an item of its own. */
export interface Media {
  readonly type: 'image' | 'document' | 'audio' | 'video' | 'file'
  readonly mime?: string
  /** Base64 payload, when it travels inline. */
  readonly data?: string
  /** URL or file id, when only a reference travels. Its size cannot be seen from here. */
  readonly reference?: string
  readonly name?: string
}

/** The wire fragment an item was read from. The core carries it and never opens it. */
export interface Origin {
  readonly format: string
  readonly value: unknown
}

/**
 * One thing in a conversation. The engine reads these fields and nothing else; everything the wire knows beyond them stays
 * in `origin` and travels untouched.
 */
export interface Item {
  /** Unique in its conversation; a position, not an identity. See `identity.ts` for what survives a resend. */
  readonly id: string
  readonly kind: ItemKind
  readonly role: Role
  /** What a reader would see: prose, a call's arguments as JSON text, a result's text. Empty for pure media. */
  readonly text: string
  /** Index of the wire message it stands in; items of one message share it. Items that we insert have -1. */
  readonly message: number
  readonly callId?: string
  readonly toolName?: string
  /** A result that reports a failure, where the wire says so. */
  readonly isError?: boolean
  /** A call that the provider itself runs: its result stands in the same assistant message. */
  readonly serverSide?: boolean
  /** Signed, encrypted or bound content: sent unchanged to its issuer or not at all. */
  readonly sealed?: boolean
  /** Characters of sealed content that `text` does not show: all that can be seen of its size. */
  readonly sealedCharacters?: number
  /** Tells sealed content apart, wherever it is sent again: the end of its ciphertext. */
  readonly seal?: string
  readonly media?: readonly Media[]
  /** The provider's own compaction: it carries on what stands before it, which the provider no longer reads. */
  readonly standsForPrefix?: true
  /** Set when an edit replaced `text`; the codec then splices this item instead of copying its span. */
  readonly edited?: true
  readonly origin?: Origin
}

/** What is read of an item, before it has its place in a conversation. */
export type ItemCore = Pick<Item, 'kind' | 'text'> &
  Partial<Omit<Item, 'kind' | 'text' | 'id' | 'message' | 'origin' | 'edited'>>

/** A tool as declared in the request. `text` is the declaration as it stands on the wire. */
export interface ToolDeclaration {
  readonly name: string
  readonly text: string
  /** The declaration as the models of this wire's vendor read it, where that is known: what they count. */
  readonly readAs?: string
  /** The schema refers to itself, and the vendor writes references out: nobody knows how often. */
  readonly isRecursive?: true
  /** The vendor describes this tool by itself: so many tokens, by its documents. */
  readonly describedBy?: number
}

/** Media bytes as they travel: base64 characters, or nothing for a reference. */
export const mediaBytes = (item: Item): number =>
  (item.media ?? []).reduce((sum, media) => sum + (media.data?.length ?? 0), 0)
