import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { byteLength, countLines, grouped } from '../../intake/text.ts'
import type { DesignView } from '../design.ts'
import { ADDRESS_BYTES } from '../guarded.ts'
import { AI_AGENT_MAX_BYTES, guardAiAgent } from './truncate.ts'

/** With a reader in the request the address is enough; without one the two ends are all that the model will ever see. */
export function aiAgentGuard(
  { bytes = AI_AGENT_MAX_BYTES }: GuardRule,
  text: string,
  { handle, readers, countTokens }: PresentOptions,
): DesignView {
  const reader = readers.get('artifact_extract') ?? readers.get('artifact_read')
  if (reader === undefined) return { text: `${guardAiAgent(text, bytes - ADDRESS_BYTES)}\n[Full output: ${handle}]` }
  const size = `${grouped(byteLength(text))} bytes, ${grouped(countLines(text))} lines, ${grouped(Math.ceil(countTokens(text)))} tokens`
  const pointer = `[Tool output is too large for the context (${size}) and was stored as ${handle}. Call ${reader} with this handle and precise instructions on what to extract.]`
  return { text: pointer, metadata: { handling_mode: 'handle' } }
}
