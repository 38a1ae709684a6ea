export type ItemKind = 'instruction' | 'user' | 'assistant' | 'reasoning' | 'call' | 'result' | 'media' | 'opaque'

export type Role = 'system' | 'user' | 'assistant' | 'tool'

/** A picture, document, sound or file, in an item or as an item of its own. */
export interface Media {
  readonly type: 'image' | 'document' | 'audio' | 'video' | 'file'
  readonly mime?: string
  /** Base64 payload, when it is inline. */
  readonly data?: string
  /** URL or file id, when only a reference is sent. Its size is not visible. */
  readonly reference?: string
  readonly name?: string
}

/** The wire fragment an item was read from. The core carries it and never opens it. */
export interface Origin {
  readonly format: string
  readonly value: unknown
}

/** One thing in a conversation. The engine reads only these fields; everything else stays in `origin` and is sent unchanged. */
export interface Item {
  /** Unique in its conversation; a position, not an identity. See `identity.ts` for what survives a resend. */
  readonly id: string
  readonly kind: ItemKind
  readonly role: Role
  /** Prose, a call's arguments as JSON text, or a result's text. Empty for media only. */
  readonly text: string
  /** Index of its wire message; items of one message share it. Items that we insert have -1. */
  readonly message: number
  readonly callId?: string
  readonly toolName?: string
  /** A result that reports a failure, where the wire says so. */
  readonly isError?: boolean
  /** A call that the provider runs itself: its result is in the same assistant message. */
  readonly serverSide?: boolean
  /** Signed, encrypted or bound content: sent unchanged to its issuer or not at all. */
  readonly sealed?: boolean
  /** Characters of sealed content that are not in `text`: all that is visible of its size. */
  readonly sealedCharacters?: number
  /** Identifies sealed content when it is sent again: the end of its ciphertext. */
  readonly seal?: string
  readonly media?: readonly Media[]
  /** Its words came as a document or file: an edit writes plain text in the place of the whole. */
  readonly isFile?: true
  /** The provider's own compaction: it replaces all earlier items, which the provider no longer reads. */
  readonly standsForPrefix?: true
  /** Of such a compaction: what users wrote before it is still read. */
  readonly sparesUsers?: true
  /** Set when an edit replaced `text`; the codec then splices this item instead of copying its span. */
  readonly edited?: true
  readonly origin?: Origin
}

/** An item before it has an id and a position in a conversation. */
export type ItemCore = Pick<Item, 'kind' | 'text'> &
  Partial<Omit<Item, 'kind' | 'text' | 'id' | 'message' | 'origin' | 'edited'>>

/** A declared tool. `text` is the declaration on the wire. */
export interface ToolDeclaration {
  readonly name: string
  readonly text: string
  /** The text that the vendor's models read instead of `text`, where known; it is what they count. */
  readonly readAs?: string
  /** The schema refers to itself, and the vendor expands references, how often is not known. */
  readonly isRecursive?: true
  /** Tokens of the vendor's own description of this tool, by its documents. */
  readonly describedBy?: number
}

/** Base64 characters of an item's inline media. */
export const mediaBytes = (item: Item): number =>
  (item.media ?? []).reduce((sum, media) => sum + (media.data?.length ?? 0), 0)
