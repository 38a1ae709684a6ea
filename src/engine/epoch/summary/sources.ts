import type { Item } from '../../../core/item.ts'
import { stringsIn } from '../../../core/quotes.ts'
import type { Draft } from '../cascade/draft.ts'
import { lineKey, type LineContext, type LineSource, type LineUse } from './lines.ts'

/** Results below this size are quoted without a handle: the handle would cost more than it could bring back. */
const HANDLE_FROM_CHARACTERS = 2_000
const WEIGHTS: Partial<Record<Item['kind'], number>> = { call: 2, result: 1, assistant: 1, opaque: 0.5 }

/** A folded item as a source of lines; undefined for what is carried elsewhere or has no lines. */
export function lineSource(draft: Draft, item: Item, age: number): LineSource | undefined {
  const weight = WEIGHTS[item.kind]
  if (weight === undefined || item.text === '') return undefined
  return {
    label: labelOf(draft, item),
    lines: linesOf(item),
    weight,
    age,
    tokensPerCharacter: Math.max(0.05, draft.tokensOf(item) / Math.max(1, item.text.length)),
  }
}

function linesOf(item: Item): readonly string[] {
  return (item.kind === 'call' ? inputText(item.text) : item.text).split('\n')
}

function inputText(json: string): string {
  try {
    return stringsIn(JSON.parse(json)).join('\n')
  } catch {
    return json
  }
}

function labelOf(draft: Draft, item: Item): string {
  if (item.kind === 'call') return `» ${item.toolName ?? 'call'}`
  if (item.kind !== 'result') return '·'
  return `« ${item.toolName ?? 'result'}${hasHandle(draft, item) ? ` ${draft.handleOf(item.text)}` : ''}`
}

/** A handle is worth its tokens only where a tool of the request can open it. */
export const hasHandle = (draft: Draft, item: Item): boolean =>
  draft.readers.has('artifact_read') && item.kind === 'result' && item.text.length >= HANDLE_FROM_CHARACTERS

/** What stands in view anyway, and what the model has written so far. */
export function lineContext(draft: Draft, folded: ReadonlySet<number>, ages: readonly number[]): LineContext {
  const shown = new Set<string>()
  const used = new Map<string, LineUse>()
  for (const [index, item] of draft.items.entries()) {
    if (item.kind === 'reasoning' || item.kind === 'media') continue
    const isOurs = item.role === 'assistant'
    if (!isOurs && folded.has(index)) continue
    for (const line of linesOf(item)) {
      const key = lineKey(line)
      if (key === '') continue
      if (!folded.has(index)) shown.add(key)
      if (!isOurs) continue
      const known = used.get(key)
      const age = ages[index]!
      // A line twice in one answer is one use.
      if (known?.age !== age) used.set(key, { times: (known?.times ?? 0) + 1, age })
    }
  }
  return { shown, used }
}

/** Model calls since each item: how many assistant turns begin after it. */
export function agesOf(items: readonly Item[]): number[] {
  const ages: number[] = Array.from({ length: items.length })
  let age = 0
  for (let i = items.length - 1; i >= 0; i--) {
    ages[i] = age
    const begins = items[i]!.role === 'assistant' && items[i - 1]?.role !== 'assistant'
    if (begins) age++
  }
  return ages
}
