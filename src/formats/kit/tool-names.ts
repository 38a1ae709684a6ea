import type { Item } from '../../core/item.ts'

/** Names of tools by call id: most results do not carry them. */
export interface ToolNames {
  get(callId: string): string | undefined
  set(callId: string, name: string): void
}

/**
 * Knows the calls of messages that were read before. A result answers a call that stands just before it, so they are looked at from
 * the end, and only as far as somebody asks.
 */
export function toolNamesIn(messages: readonly (readonly Item[])[]): ToolNames {
  const names = new Map<string, string>()
  let unread = messages.length
  return {
    set: (callId, name) => void names.set(callId, name),
    get(callId) {
      while (!names.has(callId) && unread > 0) take(messages[--unread]!)
      return names.get(callId)
    },
  }

  function take(items: readonly Item[]): void {
    // An id that is used again means the later call.
    for (const { kind, callId, toolName } of items.toReversed()) {
      if (kind === 'call' && callId !== undefined && toolName !== undefined && !names.has(callId))
        names.set(callId, toolName)
    }
  }
}
