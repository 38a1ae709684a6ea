import type { Item } from '../core/item.ts'

/** Names of tools by call id: most results do not carry them. */
export function toolNamesIn(messages: readonly (readonly Item[])[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const items of messages) {
    for (const { kind, callId, toolName } of items) {
      if (kind === 'call' && callId !== undefined && toolName !== undefined) names.set(callId, toolName)
    }
  }
  return names
}
