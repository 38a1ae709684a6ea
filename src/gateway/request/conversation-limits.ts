import { BoundedMap } from '../../util/bounded-map.ts'
import type { LearnedLimit } from '../../core/target.ts'

/** What one conversation is kept within after a refusal that teaches nothing about its endpoint: a guess never leaves its conversation. */
export interface ConversationLimits {
  /** `key` is asked for where anything is held at all. */
  of(key: () => string): LearnedLimit | undefined
  hold(key: string, limit: LearnedLimit): void
}

const MOST = 1_000

export function conversationLimits(): ConversationLimits {
  const held = new BoundedMap<string, LearnedLimit>(MOST)
  return {
    of: (key) => (held.size === 0 ? undefined : held.get(key())),
    hold(key, limit) {
      held.set(key, { ...held.get(key), ...limit })
    },
  }
}
