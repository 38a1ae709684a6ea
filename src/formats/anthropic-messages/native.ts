import type { NativeManagement } from '../../core/conversation.ts'
import { member, type JsonNode } from '../json/json-index.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { spliceMember, type Splice } from '../json/splice.ts'

/** The vendor refuses a lower trigger. */
const LEAST_COMPACT_TOKENS = 50_000

/** A client that manages its own context keeps its own words about it. */
export function nativeSplice(root: JsonNode, native: NativeManagement): Splice[] {
  if ((member(root, 'context_management')?.value ?? null) !== null) return []
  const edits = editsOf(recordOf(root.value) ?? {}, native)
  return edits.length === 0 ? [] : [spliceMember(root, 'context_management', JSON.stringify({ edits }))]
}

function editsOf(body: Readonly<Record<string, unknown>>, native: NativeManagement): object[] {
  const { clearThinking, clearToolUses, compactAtTokens } = native
  const thinking = recordOf(body['thinking'])?.['type']
  const edits: object[] = []
  // Has to stand first, and is refused where nothing thinks.
  if (clearThinking !== undefined && (thinking === 'enabled' || thinking === 'adaptive'))
    edits.push({
      type: 'clear_thinking_20251015',
      keep: { type: 'thinking_turns', value: Math.max(1, clearThinking.keepTurns) },
    })
  if (clearToolUses !== undefined && (arrayOf(body['tools'])?.length ?? 0) > 0)
    edits.push({
      type: 'clear_tool_uses_20250919',
      trigger: { type: 'input_tokens', value: clearToolUses.atTokens },
      keep: { type: 'tool_uses', value: clearToolUses.keep },
      clear_at_least: { type: 'input_tokens', value: clearToolUses.atLeastTokens },
    })
  if (compactAtTokens !== undefined && compactAtTokens >= LEAST_COMPACT_TOKENS)
    edits.push({ type: 'compact_20260112', trigger: { type: 'input_tokens', value: compactAtTokens } })
  return edits
}

const BETAS: readonly (readonly [prefix: string, beta: string])[] = [
  ['compact_', 'compact-2026-01-12'],
  ['clear_', 'context-management-2025-06-27'],
]

/** The beta headers without which the vendor does not know what a body asks for. */
export function nativeBetas(body: unknown): string[] {
  const edits = arrayOf(recordOf(recordOf(body)?.['context_management'])?.['edits']) ?? []
  const types = edits.map((edit) => stringOf(recordOf(edit)?.['type']) ?? '')
  return BETAS.filter(([prefix]) => types.some((type) => type.startsWith(prefix))).map(([, beta]) => beta)
}
