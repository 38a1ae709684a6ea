import type { Item } from '../../../core/item.ts'
import type { Policy } from '../../../core/policy.ts'
import type { PriceModel } from '../../../core/price.ts'
import { plainMeter, type Design } from '../design.ts'
import { CAUTION, integerOf, type Environment, type LoadEstimator } from '../shared.ts'
import { autosreGuard, autosreStops } from './guard.ts'
import { autosreTriggers } from './large-payload.ts'
import { brake, holdBudget, narrate } from './steps.ts'

/** The sliding window's estimate: characters of the contents / 4, roles and names not counted. */
export const autosreSliding: LoadEstimator = {
  name: 'autosre-sliding',
  estimate: ({ items }) => Math.floor(items.reduce((sum, { text }) => sum + text.length, 0) / 4),
}

/** A part that is neither text nor a call nor a result counts as this many characters. */
const OTHER_PART = 500

/** The emergency brake's estimate: characters / 2.5, system text included, names and arguments of calls too. */
export const autosreEmergency: LoadEstimator = {
  name: 'autosre-emergency',
  estimate: ({ head, items }) => Math.floor([...head, ...items].reduce((sum, item) => sum + characters(item), 0) / 2.5),
}

function characters(item: Item): number {
  const name = item.kind === 'call' ? (item.toolName ?? '').length : 0
  return name + item.text.length + (item.media?.length ?? 0) * OTHER_PART
}

/** Prices that the document lists; its default prices whatever else is called. */
export const AUTOSRE_PRICES: Readonly<Record<string, PriceModel>> = {
  'gemini-2.5-flash': { input: 0.15, output: 0.6 },
  'gemini-2.5-pro': { input: 1.25, output: 10 },
  'gemini-2.0-flash': { input: 0.1, output: 0.4 },
  default: { input: 0.5, output: 2 },
}

/** Decides by the window's estimate (characters / 4); the brake has a ratio of its own, which is data of its step. */
const autosreDesign: Design = {
  name: 'autosre',
  meter: (base) => plainMeter(base, (conversation) => autosreSliding.estimate(conversation)),
  steps: { emergency: brake, summarise: narrate, 'squeeze-budget': holdBudget },
  stops: autosreStops,
  guard: autosreGuard,
}

/**
 * AutoSRE (Python, Google ADK). A sliding window of 5 events with a narrative for what is older, a brake before the model call, a
 * large-payload handler and a truncation guard after each tool.
 *
 * Its absolute numbers were made for windows of a million tokens and a working context of 32,000. Those of the sliding window apply as the
 * smaller of the number and its share (24,000 of 32,000 is 75 %); the brake's are absolute: a request that its own estimate (characters / 2.5)
 * puts above 750,000 is braked before the window is asked, and leaves with the first message, one list and the newest 10 (6 above 900,000).
 *
 * Choices: from 10 events on and above 24,000 tokens the window moves (the code had two rules); the result is measured to be at most
 * 32,000 (the code never enforced its budget); the narrative is capped at 2,000 tokens and keeps its newest lines.
 *
 * Deviations, with the promise that each keeps: the narrative persists as an epoch instead of being rebuilt every turn (5); events
 * between an old summary and the window are never in neither (3); tool pairs stay together under the brake (2); a single giant
 * message is shown as preview + handle (1); recent events stay whole instead of becoming 200-character previews (7); the
 * code-generation prompt names a handle that really opens (3); over budget, one closing answer instead of a canned text.
 *
 * Environment: SRE_AGENT_TOKEN_BUDGET, SRE_AGENT_LARGE_PAYLOAD_ENABLED, SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS,
 * SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS.
 */
export function autosre(env: Environment = {}): Policy {
  const tokenBudget = integerOf(env, 'SRE_AGENT_TOKEN_BUDGET', 0)
  return {
    name: 'autosre',
    design: autosreDesign,
    water: { high: 0.75, highTokens: 24_000, low: 0.25, lowTokens: 8_000, warn: 0.7, rest: 0.002 },
    buffer: { fraction: 0.02, min: 0, max: 20_000 },
    reserve: 'wire',
    caution: CAUTION,
    intake: { maxShare: 0.25, previewShare: 0.1, guard: autosreTriggers(env) },
    prices: AUTOSRE_PRICES,
    tokenBudget: tokenBudget > 0 ? tokenBudget : undefined,
    cascade: [
      {
        step: 'emergency',
        aboveTokens: 750_000,
        keep: 10,
        hardAboveTokens: 900_000,
        keepHard: 6,
        bulletChars: 4_000,
        charsPerToken: 2.5,
      },
      { step: 'summarise', tail: 5, minimum: 10, maxTokens: 2_000 },
      { step: 'squeeze-budget', tokens: 32_000, minimum: 10, floorTokens: 120 },
      { step: 'squeeze', floorTokens: 120 },
    ],
  }
}
