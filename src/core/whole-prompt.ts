import type { Conversation, RequestSettings } from './conversation.ts'
import type { Item } from './item.ts'

/**
 * Whether everything that the provider will count stands in the request. Only then does its count say something about the tokenizer; any
 * other tells how full this conversation is.
 */
export const showsWholePrompt = (
  { settings, items }: Pick<Conversation, 'settings' | 'items'>,
  anyHides: (items: readonly Item[]) => boolean = (all) => all.some(hidesContent),
): boolean => settings.unseen === undefined && !anyHides(items)

/** A file by id or URL, and what a tool of the provider's found: the body names them and does not hold them. */
export const hidesContent = ({ serverSide, media }: Pick<Item, 'serverSide' | 'media'>): boolean =>
  serverSide === true || media?.some(({ data }) => data === undefined) === true

/** The provider holds the history before this request: what stands in it is only what is new. */
export const isChained = ({ previousResponseId, conversationId }: RequestSettings): boolean =>
  previousResponseId !== undefined || conversationId !== undefined
