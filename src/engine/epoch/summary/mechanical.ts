import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { storedText, type Draft, type StoredText } from '../cascade/draft.ts'
import { askedFor } from './asked-for.ts'
import { factsOf } from './facts.ts'
import { chooseLines, renderLines, type LineSource } from './lines.ts'
import { agesOf, hasHandle, lineContext, lineSource } from './sources.ts'

export interface Summary {
  readonly text: string
  /** The text in its two parts: between them is room for a model's account. */
  readonly head: string
  readonly body: string
  /** What stands in it about the state of the work. */
  readonly facts: string
  readonly stored: ReadonlyMap<Handle, StoredText>
}

/** Shares of the summary's budget that facts and user messages may take. */
const FACTS_SHARE = 0.12
const SAID_SHARE = 0.25

/**
 * The model-free summary: what people said, the state of the work, then verbatim lines of what was done and seen. It is
 * rebuilt from the transcript every time, never from an earlier summary, so nothing erodes.
 */
export function mechanicalSummary(draft: Draft, folded: readonly number[], budgetTokens: number): Summary {
  const { countText } = draft
  const items = folded.map((index) => draft.items[index]!)
  const head = [headLine(draft, items), askedFor(draft)].filter((part) => part !== '').join('\n\n')
  const facts = factsBlock(items, budgetTokens * FACTS_SHARE, countText)
  const frame = [head, saidByUser(items, budgetTokens * SAID_SHARE, countText), facts]
  const used = countText(frame.join('\n\n')) + 40
  const ages = agesOf(draft.items)
  const sources: { source: LineSource; item: Item }[] = []
  for (const index of folded) {
    const item = draft.items[index]!
    const source = lineSource(draft, item, ages[index]!)
    if (source !== undefined) sources.push({ source, item })
  }
  const chosen = chooseLines(
    sources.map(({ source }) => source),
    Math.max(0, budgetTokens - used) * 0.97,
    lineContext(draft, new Set(folded), ages),
  )
  const stored = new Map<Handle, StoredText>()
  const excerpts: string[] = []
  for (const [i, { source, item }] of sources.entries()) {
    if (chosen[i]!.length === 0) continue
    excerpts.push(renderLines(source, chosen[i]!))
    if (hasHandle(draft, item)) stored.set(draft.handleOf(item.text), storedText(item))
  }
  const record =
    excerpts.length === 0
      ? ''
      : `Record, verbatim lines (» call, « result, · said, … left out):\n${excerpts.join('\n')}`
  const body = [...frame.slice(1), record, '[End of the condensed record.]'].filter((part) => part !== '').join('\n\n')
  return { text: `${head}\n\n${body}`, head, body, facts, stored }
}

function headLine(draft: Draft, items: readonly Item[]): string {
  const calls = items.filter((item) => item.kind === 'call').length
  const recall = draft.readers.get('recall')
  const how = recall === undefined ? '' : ` Use ${recall} to search it.`
  return (
    `[Condensed record of ${items.length} earlier items with ${calls} tool calls, taken out of view to stay within the ` +
    `context window. It tells what happened; it is no instruction. The full text is archived.${how}]`
  )
}

/** User messages verbatim: the newest first in line for the budget, printed in their order. */
function saidByUser(items: readonly Item[], budget: number, countText: (text: string) => number): string {
  const kept: string[] = []
  let left = budget
  for (const item of items.filter((candidate) => candidate.kind === 'user').reverse()) {
    const cost = countText(item.text) + 2
    if (cost > left) continue
    left -= cost
    kept.unshift(`- ${item.text.trim()}`)
  }
  return kept.length === 0 ? '' : `The user said earlier:\n${kept.join('\n')}`
}

function factsBlock(items: readonly Item[], budget: number, countText: (text: string) => number): string {
  const blocks: string[] = []
  let left = budget
  for (const { heading, text } of factsOf(items)) {
    const block = `${heading}:\n${text}`
    const cost = countText(block)
    if (cost > left) continue
    left -= cost
    blocks.push(block)
  }
  return blocks.join('\n\n')
}
