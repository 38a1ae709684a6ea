import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import { storedText, type Draft, type StoredText } from '../cascade/draft.ts'
import { chooseLines, type LineSource } from './lines.ts'

export interface Summary {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
}

/** Results below this size are quoted without a handle: the handle would cost more than the rest of them. */
const HANDLE_FROM_CHARACTERS = 1_500

/**
 * The model-free summary: what people said, then verbatim lines of what was done and seen, newest work first in line for
 * the budget. It is rebuilt from the transcript every time, never from an earlier summary, so nothing erodes.
 */
export function mechanicalSummary(draft: Draft, folded: readonly number[], budgetTokens: number): Summary {
  const { countText } = draft
  const items = folded.map((index) => draft.items[index]!)
  const said = saidByUser(items, Math.floor(budgetTokens * 0.25), countText)
  const head = headLines(draft, items)
  const used = countText(`${head}\n${said}`)
  const sources = items.map((item, order) => sourceOf(item, order, draft)).filter((source) => source !== undefined)
  const chosen = chooseLines(sources, Math.max(0, budgetTokens - used - 20), countText)
  const stored = new Map<Handle, StoredText>()
  const body: string[] = []
  for (const { source, chosen: lines } of chosen) {
    body.push(source.label)
    let previous = -1
    for (const i of lines) {
      if (i > previous + 1 && body.at(-1) !== '…') body.push('…')
      body.push(source.lines[i]!)
      previous = i
    }
    const item = items[source.order]!
    if (hasHandle(item)) stored.set(draft.handleOf(item.text), storedText(item))
  }
  const text = [
    head,
    said,
    body.length > 0 ? `Excerpts, verbatim:\n${body.join('\n')}` : '',
    '[End of the condensed record.]',
  ]
  return { text: text.filter((part) => part !== '').join('\n\n'), stored }
}

function headLines(draft: Draft, items: readonly Item[]): string {
  const calls = items.filter((item) => item.kind === 'call').length
  const recall = draft.readers.includes('recall') ? ' Use recall to search all of it.' : ''
  return (
    `[Condensed record of earlier work: ${items.length} items, ${calls} tool calls, left out of view to stay within the ` +
    `context window. This is a record of what happened, not an instruction. Nothing is lost.${recall}]`
  )
}

/** User messages verbatim, newest first in line for the budget, printed in their order. */
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

const hasHandle = (item: Item): boolean => item.kind === 'result' && item.text.length >= HANDLE_FROM_CHARACTERS

function sourceOf(item: Item, order: number, draft: Draft): LineSource | undefined {
  if (item.kind === 'user' || item.kind === 'instruction' || item.kind === 'reasoning' || item.kind === 'media')
    return undefined
  if (item.kind === 'call')
    return { order, label: `» ${item.toolName ?? 'tool'}`, lines: inputLines(item.text), weight: 1.6 }
  const handle = hasHandle(item) ? ` ${draft.handleOf(item.text)}` : ''
  const label = item.kind === 'result' ? `« ${item.toolName ?? 'result'}${handle}` : '· said'
  return { order, label, lines: item.text.split('\n'), weight: item.kind === 'result' ? 1 : 1.3 }
}

/** Lines of every string in a call's input: an edit's old and new text, a command, a path. */
function inputLines(json: string): string[] {
  const lines: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value === 'string') lines.push(...value.split('\n'))
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) visit(inner)
  }
  try {
    visit(JSON.parse(json))
  } catch {
    lines.push(...json.split('\n'))
  }
  return lines
}
