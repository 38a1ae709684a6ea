import type { Policy, Zones } from '../../../core/policy.ts'
import { readCyberLimits } from './compress.ts'
import { CAUTION, integerOf, isTrue, shareOf, type Environment } from '../environment.ts'

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
  const isAuto = env['CYBER_CONVERSATION_PRESERVE_LAST']?.trim().toLowerCase() === 'auto'
  const zones: Zones = {
    preserveFirst: integerOf(env, 'CYBER_CONVERSATION_PRESERVE_FIRST', 1),
    preserveLast: isAuto ? scaled(window) : integerOf(env, 'CYBER_CONVERSATION_PRESERVE_LAST', 5),
    cap: { share: 0.5, window },
  }
  const oldest = (scope: number, above?: number): Policy['cascade'][number] => ({
    step: 'summarise',
    scope,
    measure: 'estimate',
    ...(above !== undefined && { above }),
    tail: zones.preserveLast,
    style: 'record',
    share: { of: 'limit', value: 0.05 },
  })
  return {
    name: 'cyber-autoagent',
    water: {
      of: 'window',
      high: isTrue(env, 'CYBER_PROMPT_CACHE_HINT') ? Math.min(0.98, threshold + relax) : threshold,
      // There is no target beside the threshold: layers follow each other until the estimate is below it.
      low: threshold,
      warn: 0.8,
      rest: 0.05,
      inclusive: true,
      by: 'tokens',
      messages: Math.floor(window * 0.7),
      cacheRelax: isTrue(env, 'CYBER_PROMPT_CACHE_HINT') ? 0 : relax,
    },
    buffer: { fraction: 0.02, min: 0, max: Infinity },
    reserve: 'wire',
    caution: CAUTION,
    defaultWindow: integerOf(env, 'CYBER_CONTEXT_LIMIT', 200_000),
    intake: {
      maxShare: 0.25,
      previewShare: 0.1,
      guard: { design: 'cyber-autoagent', chars: limits.artifactChars, shownChars: limits.maxChars },
    },
    retention: { keep: 100, cleanAt: 150 },
    estimator: { design: 'cyber-autoagent' },
    passes: 3,
    timeMs: 30_000,
    cascade: [
      { step: 'compress-results', ...zones, fromChars: limits.compressChars, toChars: limits.truncateChars },
      { step: 'window', ...zones, unit: 'messages', size: window, target: 0.9 },
      oldest(0.3),
      oldest(0.6, 0.9),
      oldest(0.8, 0.9),
      { step: 'squeeze', floorTokens: 120, above: 0.9, to: 0.85 },
      { step: 'squeeze', floorTokens: 120 },
    ],
  }
}
