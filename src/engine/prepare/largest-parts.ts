import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'

export interface Part {
  readonly what: string
  readonly tokens: number
}

/** The heaviest parts of a request, in words that a person can act on. */
export function largestParts(view: Conversation, tokensOf: (item: Item) => number, count = 4): Part[] {
  const parts: Part[] = []
  const instructions = sum(view.head, tokensOf)
  if (instructions > 0) parts.push({ what: 'instructions', tokens: instructions })
  const tools = sum(
    view.tools.map((tool): Item => ({ id: '', kind: 'opaque', role: 'system', text: tool.text, message: -1 })),
    tokensOf,
  )
  if (tools > 0) parts.push({ what: `${view.tools.length} tool declarations`, tokens: tools })
  for (const item of view.items) parts.push({ what: nameOf(item), tokens: Math.round(tokensOf(item)) })
  return parts.sort((a, b) => b.tokens - a.tokens).slice(0, count)
}

const sum = (items: readonly Item[], tokensOf: (item: Item) => number): number =>
  Math.round(items.reduce((total, item) => total + tokensOf(item), 0))

function nameOf(item: Item): string {
  const tool = item.toolName === undefined ? '' : ` of ${item.toolName}`
  return `${item.kind}${tool} ${item.id}`
}
