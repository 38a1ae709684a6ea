import type { Policy, SummariseStep, Zones } from '../../../core/policy.ts'
import { messagesOf } from '../../epoch/thresholds.ts'
import { plainMeter, type Design } from '../design.ts'
import { CAUTION, integerOf, isTrue, shareOf, type Environment } from '../shared.ts'
import { cyberGuard, readCyberLimits } from './compress.ts'
import { cyberEstimate, decisionLines, reductionLines } from './estimate.ts'
import { layersOver } from './steps.ts'

/** Never above this share, whatever a warm cache adds. */
const CEILING = 0.98

export const cyberDesign = (window: number, cacheRelax: number): Design => ({
  name: 'cyber-autoagent',
  meter: (base, _rule, { onEvent }) =>
    plainMeter(base, (conversation, model) => cyberEstimate(conversation, model, onEvent)),
  // Shares of the whole window, and more of it where the last answer was served from the prompt cache.
  highWater: (limit, { high }, cacheIsWarm) =>
    Math.floor((cacheIsWarm && cacheRelax > 0 ? Math.min(CEILING, high + cacheRelax) : high) * limit.window),
  lowWater: (limit, { low }) => low * limit.window,
  startsAtHighWater: true,
  messages: { most: Math.floor(window * 0.7), count: (items) => messagesOf(items).length },
  steps: layersOver(window),
  guard: cyberGuard,
  log: { reduced: reductionLines, decided: decisionLines },
})

/** Dynamic scaling: 15 % of the window, at least 8; asked for with the value `auto`. */
const scaled = (window: number): number => Math.max(8, Math.floor(window * 0.15))

/**
 * Cyber-AutoAgent (Python, Strands): five layers. 0, artifacts for outputs above 10,000 characters; 1, old results of at least
 * 10,000 become 8,000; 2, a window of 100 messages down to 90 %; 3, the oldest 30 % as a summary; 4, further passes above 90 %.
 *
 * Layers 1 to 3 follow each other until the estimate is below the threshold; layer 4's two passes until it is below 90 % of the window, in 30 seconds.
 *
 * Choices: layer 1 really runs from 70 % of the window's messages on, before the 65 % token check (in the code that number only
 * wrote a log line); preserve-last is 5 unless `auto` asks for the scaled value; the zones together are at most half of the window.
 *
 * Deviations, with the promise that each keeps: layer 3 is reached when layers 1 and 2 are not enough (the code dropped two more
 * messages instead, and almost never summarised: 3); the first message is never lost (7); what leaves the window is archived and a
 * line says so (3); layer 4's passes take larger parts instead of repeating the same one (6); whatever is left after them is shown
 * as preview + handle (1); compressed values name their handle (3); artifacts that a session references are never cleaned up (3);
 * reasoning leaves with the step that it belongs to, not alone (10).
 *
 * Environment: CYBER_CONTEXT_LIMIT, CYBER_PROMPT_TELEMETRY_THRESHOLD (0.1 to 0.95), CYBER_PROMPT_CACHE_RELAX (0 to 0.3),
 * CYBER_PROMPT_CACHE_HINT, CYBER_TOOL_COMPRESS_TRUNCATE, CYBER_TOOL_MAX_RESULT_CHARS, CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD,
 * CYBER_CONVERSATION_WINDOW (10 to 120), CYBER_CONVERSATION_PRESERVE_FIRST, CYBER_CONVERSATION_PRESERVE_LAST (a number or `auto`).
 */
export function cyberAutoagent(env: Environment = {}): Policy {
  const limits = readCyberLimits(env)
  const window = Math.min(120, Math.max(10, integerOf(env, 'CYBER_CONVERSATION_WINDOW', 100)))
  const threshold = shareOf(env, 'CYBER_PROMPT_TELEMETRY_THRESHOLD', 0.65, [0.1, 0.95])
  const relax = shareOf(env, 'CYBER_PROMPT_CACHE_RELAX', 0.1, [0, 0.3])
  const isHinted = isTrue(env, 'CYBER_PROMPT_CACHE_HINT')
  const isAuto = env['CYBER_CONVERSATION_PRESERVE_LAST']?.trim().toLowerCase() === 'auto'
  const zones: Zones = {
    preserveFirst: integerOf(env, 'CYBER_CONVERSATION_PRESERVE_FIRST', 1),
    preserveLast: isAuto ? scaled(window) : integerOf(env, 'CYBER_CONVERSATION_PRESERVE_LAST', 5),
  }
  const oldest = (scope: number, above?: number): SummariseStep => ({
    step: 'summarise',
    scope,
    above,
    tail: zones.preserveLast,
  })
  return {
    name: 'cyber-autoagent',
    design: cyberDesign(window, isHinted ? 0 : relax),
    water: {
      high: isHinted ? Math.min(CEILING, threshold + relax) : threshold,
      // There is no target beside the threshold: layers follow each other until the estimate is below it.
      low: threshold,
      warn: 0.8,
      rest: 0.05,
    },
    buffer: { fraction: 0.02, min: 0, max: Infinity },
    reserve: 'wire',
    caution: CAUTION,
    defaultWindow: integerOf(env, 'CYBER_CONTEXT_LIMIT', 200_000),
    intake: {
      maxShare: 0.25,
      previewShare: 0.1,
      guard: { chars: limits.artifactChars, shownChars: limits.maxChars },
    },
    retention: { keep: 100, cleanAt: 150 },
    passes: 3,
    timeMs: 30_000,
    cascade: [
      { step: 'compress-results', ...zones, fromChars: limits.compressChars, toChars: limits.truncateChars },
      { step: 'window', ...zones, size: window, target: 0.9 },
      oldest(0.3),
      oldest(0.6, 0.9),
      oldest(0.8, 0.9),
      { step: 'squeeze', floorTokens: 120, above: 0.9, to: 0.85 },
      { step: 'squeeze', floorTokens: 120 },
    ],
  }
}
