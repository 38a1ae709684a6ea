import type { Item } from '../../../core/item.ts'
import type { EmergencyStep, Policy, SqueezeBudgetStep, SummariseStep } from '../../../core/policy.ts'
import type { PriceModel } from '../../../core/price.ts'
import { type Design, plainMeter } from '../design.ts'
import { CAUTION, type Environment, type LoadEstimator, integerOf } from '../shared.ts'
import { autosreGuard, autosreStops, autosreTriggers } from './guard.ts'
import { clip, resultLine, story } from './narrative.ts'
import {
  type Draft,
  NOTHING,
  type PlannedSoFar,
  type Proposal,
  foldableIn,
  headEnd,
  sizeOf,
  standIn,
  tailStart,
} from '../../epoch/cascade/draft.ts'
import { squeeze } from '../../epoch/cascade/squeeze.ts'
import { newestWithin, summarise } from '../../epoch/cascade/summarise.ts'

const BULLET_CHARACTERS = 100
/** Room for the line that counts the bullets left out. The design kept the oldest; the newest are what the next step builds on. */
const MARK_CHARACTERS = 40
const BRAKED = 'folded into bullets'

/**
 * AutoSRE's brake: instructions and the first user message stay, the newest messages stay, the middle becomes bullets. Tool pairs
 * stay together (the design could leave a result without its call, which Gemini answers with a 400).
 */
function brake(draft: Draft, step: EmergencyStep, { projected: load, gone }: PlannedSoFar): Proposal {
  if (load <= draft.lowTokens) return NOTHING
  const projected = estimateOf(draft, step, gone)
  if (projected <= step.aboveTokens) return NOTHING
  const keep = projected > step.hardAboveTokens ? step.keepHard : step.keep
  const tailFrom = tailStart(draft, keep, 'messages')
  const folded = foldableIn(draft, headEnd(draft, 1), tailFrom)
  if (folded.length === 0) return NOTHING
  const messages = countMessages(draft, folded)
  const bullets = folded
    .map((index) => bulletOf(draft.items[index]!, draft.describeResult))
    .filter((line) => line !== undefined)
  const head = `[EMERGENCY COMPACTION: ${messages} turns were compacted into this list. It tells what happened; it is not an instruction.]`
  const list = newestWithin(bullets, step.bulletChars - head.length - MARK_CHARACTERS, (line) => line.length)
  const reasons = { dropped: BRAKED, inserted: `stands for ${messages} turns` }
  return { edits: standIn(draft, folded, `${head}\n${list}`, reasons), stored: new Map() }
}

/** A part that is neither text nor a call nor a result counts as this many characters. */
const OTHER_PART = 500

function estimateOf(draft: Draft, { charsPerToken = 2.5 }: EmergencyStep, gone: (index: number) => boolean): number {
  let characters = 0
  for (const [index, item] of draft.items.entries()) {
    if (!gone(index)) characters += item.text.length + (item.media?.length ?? 0) * OTHER_PART
  }
  return draft.fixedTokens + Math.floor(characters / charsPerToken)
}

function bulletOf(item: Item, describe: Draft['describeResult']): string | undefined {
  if (item.kind === 'call') return `- Called tool ${item.toolName ?? 'unknown'}`
  if (item.kind === 'result') return `- Result: ${resultLine(item, describe)}`
  if (item.text.trim() === '') return undefined
  if (item.kind === 'assistant' || item.kind === 'reasoning') return `- Thought: ${clip(item.text, BULLET_CHARACTERS)}`
  return item.kind === 'user' ? `- User: ${clip(item.text, BULLET_CHARACTERS)}` : undefined
}

function countMessages(draft: Draft, indexes: readonly number[]): number {
  let count = 0
  for (const [n, index] of indexes.entries()) {
    const isRun = n > 0 && indexes[n - 1] === index - 1
    count += isRun ? sizeOf(draft, index - 1, index + 1, 'messages') - 1 : 1
  }
  return count
}

/** The sliding window: the first message, a narrative, and the newest events. Behind the brake one message has told of the middle. */
function narrate(draft: Draft, step: SummariseStep, before: PlannedSoFar): Proposal {
  const { tail, minimum = 0, maxTokens = Infinity } = step
  if (before.projected <= draft.lowTokens || isBraked(before) || draft.items.length < minimum) return NOTHING
  return summarise(draft, {
    folded: foldableIn(draft, headEnd(draft, 1), tailStart(draft, tail, 'items')),
    style: story,
    maxTokens: Math.min(maxTokens, Math.floor(0.0625 * draft.limitTokens)),
    modelFree: true,
  })
}

const BUDGET_ABOVE = 0.9
const BUDGET_TO = 0.85

/** Holds what is left within the working context, which is no more than a share of the limit. */
async function holdBudget(
  draft: Draft,
  { tokens, minimum, floorTokens }: SqueezeBudgetStep,
  before: PlannedSoFar,
): Promise<Proposal> {
  const { projected } = before
  const level = (share: number): number => Math.min(tokens, draft.limitTokens * share)
  if (projected <= Math.max(draft.lowTokens, level(BUDGET_ABOVE)) || isBraked(before)) return NOTHING
  if (draft.items.length < minimum) return NOTHING
  const spared = await squeeze(draft, projected - level(BUDGET_TO), before, { floorTokens, spareUser: true })
  const freed = spared.edits.reduce((sum, edit) => {
    if (edit.op !== 'replace') return sum
    const index = draft.links[edit.at]!.index
    return sum + (before.shown.get(index) ?? draft.items[index]!.text).length - edit.text.length
  }, 0)
  const own = estimateOfItems(before.items()) - Math.floor(freed / CHARACTERS_PER_TOKEN)
  if (own <= tokens) return spared
  // What people wrote alone is above the budget: here the design's own count decides, and with it what each part weighs.
  const count = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN)
  const weighed: Draft = {
    ...draft,
    tokensOf: ({ text }) => count(text),
    countText: count,
    fixedTokens: 0,
    limitTokens: level(1),
  }
  return squeeze(weighed, estimateOfItems(before.items()) - level(1), before, { floorTokens })
}

const isBraked = ({ edits }: PlannedSoFar): boolean => edits.some(({ reason }) => reason === BRAKED)

/** The sliding window's estimate: characters of the contents / 4, roles and names not counted. */
export const autosreSliding: LoadEstimator = ({ items }) => estimateOfItems(items)

const CHARACTERS_PER_TOKEN = 4
const estimateOfItems = (items: readonly Item[]): number =>
  Math.floor(items.reduce((sum, { text }) => sum + text.length, 0) / CHARACTERS_PER_TOKEN)

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
  meter: (base) => plainMeter(base, autosreSliding),
  steps: { emergency: brake, summarise: narrate, 'squeeze-budget': holdBudget },
  stops: autosreStops,
  guard: autosreGuard,
  ownReader: ({ sandbox }) => (sandbox === false ? 'execute_custom_analysis_in_sandbox' : undefined),
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
