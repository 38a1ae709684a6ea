import type { NativeManagement } from '../../../core/conversation.ts'
import { isChained } from '../../../core/count.ts'
import { lowWater } from '../../epoch/thresholds.ts'
import type { PrepareContext, View } from '../context.ts'

/** What the provider clears at a time is at least this share of the limit: each time costs the cache behind it. */
const CLEAR_AT_LEAST = 0.1

/**
 * The provider's own context management: where the policy asks for it and the wire knows it, with numbers that follow from model and
 * policy alone, so that every request of a session says the same; and where the provider holds a history that has grown large.
 */
export function nativeManagement(context: PrepareContext, view: Pick<View, 'load'>): NativeManagement | undefined {
  const { deps, limit } = context
  const { native } = deps.policy
  if (native === undefined)
    return compactsChain(context, view) ? { compactAtTokens: Math.floor(lowWater(deps.policy, limit)) } : undefined
  const { compactAt, clearToolUsesAt, keepToolUses = 3, keepThinkingTurns } = native
  const share = (value: number): number => Math.floor(value * limit.tokens)
  return {
    ...(compactAt !== undefined && { compactAtTokens: share(compactAt) }),
    ...(clearToolUsesAt !== undefined && {
      clearToolUses: { atTokens: share(clearToolUsesAt), keep: keepToolUses, atLeastTokens: share(CLEAR_AT_LEAST) },
    }),
    ...(keepThinkingTurns !== undefined && { clearThinking: { keepTurns: keepThinkingTurns } }),
  }
}

/** Only the provider can make a history smaller that it holds. It is asked in time, from the load on at which the policy warns: a history that no longer fits gets a closing turn. */
function compactsChain(
  { deps, codec, conversation, target, limit }: PrepareContext,
  { load }: Pick<View, 'load'>,
): boolean {
  const { warn, high } = deps.policy.water
  return (
    isChained(conversation.settings) &&
    codec.traits.compactsHistory(target.endpoint) &&
    load.count.high >= (warn ?? high) * limit.tokens
  )
}
