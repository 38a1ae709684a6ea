import type { GuardRule, Policy } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { byteLength, countLines, grouped } from '../../intake/text.ts'
import type { Design, DesignView } from '../design.ts'
import { ADDRESS_BYTES, CAUTION, isTrue, type Environment } from '../shared.ts'
import { aiAgentMeter, debugLines } from './meter.ts'
import { AI_AGENT_MAX_BYTES, guardAiAgent } from './truncate.ts'

/** With a reader in the request the address is enough; without one the two ends are all that the model will ever see. */
function aiAgentGuard(
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

/** The tool that a closing turn may still call, as the design names it. */
export const FINAL_REPORT_TOOL = 'agent__final_report'

export const FINAL_INSTRUCTION =
  'The context window is used up. Answer now with what you have, even if it is incomplete: say so, and do not fill gaps by ' +
  'guessing. The user may call again.'

/**
 * netdata ai-agent (TypeScript): a guard, no compaction. projected > window - buffer - max output forces a closing turn with the
 * final report tool only; outputs above 12,288 bytes, and those that no longer fit, become handles.
 *
 * Choices: schemas are inside the projection (2.09 times their estimate); a limit of exactly the projection is fine; the buffer is
 * 8,192 tokens, and an eighth of windows below 65,536, of which 8,192 would leave too little; where neither request nor file says how long an
 * answer may be, a quarter of the window is reserved (4,096 and 16,384 are also written).
 *
 * Deviations, with the promise that each keeps: "still over limit after shrink" is logged in these words and ends in the typed error
 * instead of being sent (1); a limit that is not positive is an error instead of switching the check off (1); handles give back the
 * exact bytes, not a reformatted copy (3); results of a request that does not fit become handles, the largest first, so that the
 * closing turn can be sent at all (1), and where that is not enough its old steps are folded, once the session has to close anyway (1); what its own
 * estimate lets through and our upper bound does not, is closed as well (1).
 *
 * Environment: CONTEXT_DEBUG=true writes the debug topics `context-guard/…`.
 */
export const aiAgent = (env: Environment = {}): Policy => ({
  name: 'ai-agent',
  design: {
    name: 'ai-agent',
    meter: aiAgentMeter,
    guard: aiAgentGuard,
    ownReader: () => 'tool_output',
    log: isTrue(env, 'CONTEXT_DEBUG') ? { decided: debugLines } : undefined,
  } satisfies Design,
  water: { high: 1, low: 0.9, warn: 0.8, rest: 0 },
  buffer: { fraction: 0.125, min: 0, max: 8_192 },
  reserve: 'quarter',
  caution: CAUTION,
  defaultWindow: 131_072,
  intake: {
    // The cap and what the window has left decide, nothing between them.
    maxShare: Infinity,
    previewShare: 0.1,
    guard: { bytes: AI_AGENT_MAX_BYTES },
    // Reserve under a lock; what no longer fits becomes a handle and forces the closing turn.
    budget: { withinWindow: true },
  },
  cascade: [
    { step: 'squeeze', floorTokens: 120, above: 0.9, to: 0.9 },
    // A conversation that outgrew its window although nothing in it is large: without this not even its closing turn could be sent.
    { step: 'fold', tailShare: 0.4, summaryShare: 0.3 },
    { step: 'squeeze', floorTokens: 120 },
    { step: 'final', tools: [FINAL_REPORT_TOOL], instruction: FINAL_INSTRUCTION },
  ],
})
