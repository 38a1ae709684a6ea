import type { Item } from '../../../../core/item.ts'
import type { EmergencyStep } from '../../../../core/policy.ts'
import { cutHead } from '../../../intake/text.ts'
import { NOTHING, type Draft, type Proposal } from '../draft.ts'
import { summaryPlace } from './fold.ts'
import { clip, resultLine, type DescribeResult } from '../../summary/narrative.ts'
import { dropEdits, foldableIn, headEnd, sizeOf, tailStart } from '../zones.ts'

const BULLET_CHARACTERS = 100

/**
 * AutoSRE's brake: instructions and the first user message stay, the newest messages stay, the middle becomes bullets. Tool pairs
 * stay together (the design could leave a result without its call, which Gemini answers with a 400).
 */
export function emergencyFold(draft: Draft, step: EmergencyStep, gone: (index: number) => boolean): Proposal {
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
  const text = `${head}\n${newestFirst(bullets, step.bulletChars - head.length)}`
  return {
    edits: [
      ...dropEdits(draft, folded, 'folded into bullets'),
      {
        op: 'insert',
        at: summaryPlace(draft, folded[0]!, tailFrom),
        role: 'user',
        text,
        reason: `stands for ${messages} turns`,
      },
    ],
    stored: new Map(),
  }
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

/** The design kept the oldest bullets of the middle; the newest are what the next step builds on. */
function newestFirst(bullets: readonly string[], characters: number): string {
  const kept: string[] = []
  let left = characters - 40
  for (const bullet of bullets.toReversed()) {
    if (bullet.length + 1 > left) break
    left -= bullet.length + 1
    kept.unshift(bullet)
  }
  const dropped = bullets.length - kept.length
  const all = dropped === 0 ? kept : [`- (${dropped} older entries left out)`, ...kept]
  return cutHead(all.join('\n'), Math.max(0, characters))
}

function countMessages(draft: Draft, indexes: readonly number[]): number {
  let count = 0
  for (const [n, index] of indexes.entries()) {
    const isRun = n > 0 && indexes[n - 1] === index - 1
    count += isRun ? sizeOf(draft, index - 1, index + 1, 'messages') - 1 : 1
  }
  return count
}
