import type { Conversation } from '../../core/conversation.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import type { Fields } from '../../core/values.ts'
import { arrayOf } from './reading.ts'

/** The messages of a wire that keeps them under one key of its root. */
export interface MessageList {
  fieldsOf(conversation: Conversation): Fields
  withMessages(fields: Fields, messages: readonly unknown[]): Fields
  parsedMessages(conversation: Conversation): readonly unknown[]
  endOfMessage(conversation: Conversation, message: number): number
  listIn(conversation: Conversation): { readonly start: number; readonly end: number } | undefined
}

export function messageList(key: string): MessageList {
  const rootOf = ({ source }: Conversation): JsonNode => (source.value as { readonly root: JsonNode }).root
  const fieldsOf = (conversation: Conversation): Fields => rootOf(conversation).value as Fields
  return {
    fieldsOf,
    withMessages: (fields, messages) => ({ ...fields, [key]: messages }),
    parsedMessages: (conversation) => arrayOf(fieldsOf(conversation)[key]) ?? [],
    endOfMessage: (conversation, message) => member(rootOf(conversation), key)!.at(message)!.end,
    listIn: (conversation) => member(rootOf(conversation), key),
  }
}
