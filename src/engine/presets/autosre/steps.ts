import type { Item } from '../../../core/item.ts'
import type { EmergencyStep, SqueezeBudgetStep, SummariseStep } from '../../../core/policy.ts'
import { isRecord } from '../../../core/values.ts'
import {
  foldableIn,
  headEnd,
  NOTHING,
  sizeOf,
  standIn,
  tailStart,
  type Draft,
  type PlannedSoFar,
  type Proposal,
} from '../../epoch/cascade/draft.ts'
import { squeeze } from '../../epoch/cascade/squeeze.ts'
import { LANGUAGE, newestWithin, summarise, type Style } from '../../epoch/cascade/summarise.ts'
import { parseStructure } from '../../intake/json/json-view.ts'
import { cutHead } from '../../intake/text.ts'
import { asText } from '../shared.ts'

const BULLET_CHARACTERS = 100
/** Room for the line that counts the bullets left out. The design kept the oldest; the newest are what the next step builds on. */
const MARK_CHARACTERS = 40
const BRAKED = 'folded into bullets'

/**
 * AutoSRE's brake: instructions and the first user message stay, the newest messages stay, the middle becomes bullets. Tool pairs
 * stay together (the design could leave a result without its call, which Gemini answers with a 400).
 */
export function brake(draft: Draft, step: EmergencyStep, { projected: load, gone }: PlannedSoFar): Proposal {
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

function bulletOf(item: Item, describe: DescribeResult): string | undefined {
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

/** An account of what happened, written by code, tool by tool. */
export const story: Style = {
  system: () => `Tell what happened in this investigation so far, findings first. ${LANGUAGE}`,
  fallback: ({ items, describeResult }, capTokens, countText) =>
    newestWithin(narrative(items, describeResult), capTokens, countText),
}

/** The sliding window: the first message, a narrative, and the newest events. Behind the brake one message has told of the middle. */
export function narrate(draft: Draft, step: SummariseStep, before: PlannedSoFar): Proposal {
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
export function holdBudget(
  draft: Draft,
  { tokens, minimum, floorTokens }: SqueezeBudgetStep,
  before: PlannedSoFar,
): Proposal | Promise<Proposal> {
  const { projected } = before
  const level = (share: number): number => Math.min(tokens, draft.limitTokens * share)
  if (projected <= Math.max(draft.lowTokens, level(BUDGET_ABOVE)) || isBraked(before)) return NOTHING
  if (draft.items.length < minimum) return NOTHING
  return squeeze(draft, projected - level(BUDGET_TO), before, { floorTokens, spareUser: true })
}

const isBraked = ({ edits }: PlannedSoFar): boolean => edits.some(({ reason }) => reason === BRAKED)

type DescribeResult = Draft['describeResult']

/** AutoSRE's limits per event, in characters; the dots count. */
const LIMITS = { user: 200, assistant: 150, other: 100, output: 200, error: 100, finding: 100 } as const

/** One line per event of an investigation, then what was found. */
function narrative(items: readonly Item[], describe: DescribeResult): string[] {
  const lines = items.map((item) => lineOf(item, describe)).filter((line) => line !== undefined)
  const findings = items.flatMap((item) => (item.kind === 'result' ? findingsIn(item) : []))
  return findings.length === 0 ? lines : [...lines, 'Key findings:', ...findings.slice(-10).map((one) => `- ${one}`)]
}

function lineOf(item: Item, describe: DescribeResult): string | undefined {
  if (item.kind === 'call') return `Called tool: ${item.toolName ?? 'unknown'}`
  if (item.kind === 'result') return resultLine(item, describe)
  if (item.text.trim() === '') return undefined
  if (item.kind === 'user') return `User: ${clip(item.text, LIMITS.user)}`
  if (item.kind === 'assistant' || item.kind === 'reasoning') return `Thought: ${clip(item.text, LIMITS.assistant)}`
  return clip(item.text, LIMITS.other)
}

function resultLine({ toolName = 'unknown', text, isError }: Item, describe: DescribeResult): string {
  if (isError === true) return `${toolName} failed: ${clip(text, LIMITS.error)}`
  const response = parseStructure(text)
  if (response === undefined) return `${toolName}: ${clip(text, LIMITS.output)}`
  const line = clip(describe(toolName, response), LIMITS.output)
  return line.startsWith(toolName) ? line : `${toolName}: ${line}`
}

function findingsIn({ text, toolName = 'unknown' }: Item): string[] {
  const response = parseStructure(text)
  const result = isRecord(response) && isRecord(response['result']) ? response['result'] : response
  if (!isRecord(result)) return []
  const named = ['root_cause', 'bottleneck'].flatMap((key) =>
    result[key] === undefined || result[key] === null
      ? []
      : [`${key.replace('_', ' ')}: ${clip(asText(result[key]), LIMITS.finding)} (${toolName})`],
  )
  const anomalies = result['anomalies']
  return Array.isArray(anomalies) && anomalies.length > 0
    ? [...named, `${anomalies.length} anomalies (${toolName})`]
    : named
}

/** Cut inside the limit, dots included. */
const clip = (text: string, characters: number): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= characters ? line : `${cutHead(line, characters - 3)}...`
}
