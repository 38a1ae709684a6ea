import type { NativeManagement } from '../../../core/conversation.ts'
import { changeEnvelope } from '../../../core/edits.ts'
import type { NativeStep } from '../../../core/policy.ts'
import type { Limit } from '../../../core/target.ts'
import type { PrepareContext, View } from '../context.ts'

/** What the provider clears at a time is at least this share of the limit: each time costs the cache behind it. */
const CLEAR_AT_LEAST = 0.1

/**
 * The view with the provider's own context management switched on, where the policy has it as a step and the wire knows it. The numbers
 * follow from model and policy alone, so that every request of a session says the same.
 */
export function withNative(context: PrepareContext, view: View): View {
  const { deps, codec, limit } = context
  const step = deps.policy.cascade.find((one) => one.step === 'native')
  if (step === undefined) return view
  const conversation = changeEnvelope(view.conversation, { native: managementOf(step, limit) })
  const { text } = codec.encode(conversation)
  const needed = codec.nativeHeaders?.(JSON.parse(text)) ?? {}
  return { ...view, conversation, text, headers: joined(view.headers, needed) }
}

function managementOf(step: NativeStep, { tokens }: Limit): NativeManagement {
  const { compactAt, clearToolUsesAt, keepToolUses = 3, keepThinkingTurns } = step
  const share = (value: number): number => Math.floor(value * tokens)
  return {
    ...(compactAt !== undefined && { compactAtTokens: share(compactAt) }),
    ...(clearToolUsesAt !== undefined && {
      clearToolUses: { atTokens: share(clearToolUsesAt), keep: keepToolUses, atLeastTokens: share(CLEAR_AT_LEAST) },
    }),
    ...(keepThinkingTurns !== undefined && { clearThinking: { keepTurns: keepThinkingTurns } }),
  }
}

/** Lists of one header become one list. */
function joined(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = { ...a }
  for (const [name, value] of Object.entries(b)) headers[name] = a[name] === undefined ? value : `${a[name]},${value}`
  return headers
}
