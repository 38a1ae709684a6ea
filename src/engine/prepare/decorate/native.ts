import type { NativeManagement } from '../../../core/conversation.ts'
import type { PrepareContext } from '../context.ts'

/** What the provider clears at a time is at least this share of the limit: each time costs the cache behind it. */
const CLEAR_AT_LEAST = 0.1

/**
 * The provider's own context management, where the policy has it as a step and the wire knows it. The numbers follow from model and
 * policy alone, so that every request of a session says the same.
 */
export function nativeManagement({ deps, limit }: PrepareContext): NativeManagement | undefined {
  const step = deps.policy.cascade.find((one) => one.step === 'native')
  if (step === undefined) return undefined
  const { compactAt, clearToolUsesAt, keepToolUses = 3, keepThinkingTurns } = step
  const share = (value: number): number => Math.floor(value * limit.tokens)
  return {
    ...(compactAt !== undefined && { compactAtTokens: share(compactAt) }),
    ...(clearToolUsesAt !== undefined && {
      clearToolUses: { atTokens: share(clearToolUsesAt), keep: keepToolUses, atLeastTokens: share(CLEAR_AT_LEAST) },
    }),
    ...(keepThinkingTurns !== undefined && { clearThinking: { keepTurns: keepThinkingTurns } }),
  }
}
