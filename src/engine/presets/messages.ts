import { parsedJson, recordOf, type Fields } from '../../core/values.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'

/** Estimates the load of a request in its own way; presets of the source designs decide on these numbers. */
export interface LoadEstimator {
  readonly name: string
  estimate(conversation: Conversation): number
}

/** Items by the wire message they stand in, in order; each item that we inserted is a message of its own. */
export function messagesOf(items: readonly Item[]): Item[][] {
  const messages: Item[][] = []
  let last = -1
  for (const item of items) {
    if (item.message < 0 || item.message !== last || messages.length === 0) messages.push([item])
    else messages.at(-1)!.push(item)
    last = item.message
  }
  return messages
}

export const utf8Length = (text: string): number => Buffer.byteLength(text, 'utf8')

/** Bytes behind base64 text, without decoding it. */
export const decodedLength = (base64: string): number => Math.floor((base64.length * 3) / 4)

/** The fields of a declaration or of arguments; empty for text that is no JSON object. */
export const fieldsOf = (text: string): Fields => recordOf(parsedJson(text)) ?? {}

export const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

export interface DeclaredTool {
  readonly name: string
  readonly description: string
  readonly schema: string
}

/** Name, description and schema of a tool, wherever its wire keeps them. */
export function declaredTool(name: string, text: string): DeclaredTool {
  const outer = fieldsOf(text)
  const inner = outer['function']
  const fields = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : outer
  const schema =
    fields['parameters'] ?? fields['input_schema'] ?? fields['parametersJsonSchema'] ?? fields['inputSchema']
  return { name, description: asText(fields['description'] ?? ''), schema: schema === undefined ? '' : asText(schema) }
}
