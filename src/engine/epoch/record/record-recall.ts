import { visitIdentifiers, createLineMatcher, MIN_QUOTE_LENGTH } from '../../../core/quotes.ts'
import type { Item } from '../../../core/item.ts'
import type { Epoch, Receipt, ReceiptCounts, RecordRecall } from '../../../core/records.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import { pathOf } from './calls.ts'
import { isOpen, planStateOf, ranCommands } from './facts.ts'
import { changedSince, spokenIn } from './said.ts'
import { textResultsIn } from './text-results.ts'

/**
 * What became of what an epoch drops or shortens. By kind, how many texts are in view, behind a tool of the request, or in the archive alone; and the
 * same as shares, with names that the model used and with demands by their length.
 */
export function keptUnder(
  context: Pick<PrepareContext, 'conversation' | 'links' | 'epochReaders'>,
  { edits }: Pick<Epoch, 'edits'>,
  view: Pick<View, 'conversation'>,
): { readonly recall: RecordRecall; readonly receipt: Receipt } {
  const { conversation, links, epochReaders } = context
  const taken = takenBy(conversation, links, edits)
  const results = textResultsIn(taken)
  const shown = view.conversation.items.map(({ text }) => text)
  const people = taken
    .filter((item) => item.kind === 'user' && !results.has(item))
    .map(({ text }) => spokenIn(text).words)
  const receipt = receiptOf(taken, people, shown, {
    canOpen: epochReaders().has('recall'),
    history: conversation.items,
  })
  const said = people.flatMap(linesOf)
  const step = Math.max(1, Math.ceil(said.length / MOST_LINES))
  const demands = linesKept(
    said.filter((_, i) => i % step === 0),
    shown,
  )
  const share = ({ retained, stale, recoverable, missing }: ReceiptCounts): number =>
    shareOf(retained + stale, retained + stale + recoverable + missing)
  const { openItems, errors, files } = receipt
  return {
    recall: {
      names: namesKept(taken, shown),
      demands,
      plan: share(openItems),
      errors: share(errors),
      paths: share(files),
    },
    receipt,
  }
}

/** The items that these edits take out of view or shorten. */
export function takenBy(
  { items }: PrepareContext['conversation'],
  links: PrepareContext['links'],
  edits: Epoch['edits'],
): readonly Item[] {
  const places = new Set<number>()
  for (const edit of edits) {
    if (edit.op === 'drop') for (let place = edit.from; place < edit.to; place++) places.add(place)
    if (edit.op === 'replace') places.add(edit.at)
  }
  return [...places].sort((a, b) => a - b).map((place) => items[links[place]!.index]!)
}

const DECIDES =
  /\b(?:decided|decision|chose|chosen|instead of|going with|will use|because|root cause|turns out|conclusion)\b/i

function receiptOf(
  taken: readonly Item[],
  people: readonly string[],
  shown: readonly string[],
  { canOpen, history }: { readonly canOpen: boolean; readonly history: readonly Item[] },
): Receipt {
  const replaced = new Set([...changedSince(people).keys()].flatMap((index) => linesOf(people[index]!)))
  const commands = ranCommands(taken)
  const now = new Set(ranCommands(history).flatMap(({ command, exit }) => (exit === 0 ? [command] : [])))
  const fixed = new Set(
    commands.flatMap(({ command, error }) => (error !== undefined && now.has(command) ? [error] : [])),
  )
  const said = taken.filter(({ kind }) => kind === 'assistant').flatMap(({ text }) => linesOf(text))
  const countsOf = (texts: readonly string[], isStale: ReadonlySet<string> = new Set()): ReceiptCounts => {
    const all = [...new Set(texts)].slice(-MOST_TEXTS)
    const matcher = createLineMatcher(all)
    const found = new Set(shown.flatMap((text) => matcher.scan(text).map((index) => all[index]!)))
    for (const text of all)
      if (text.length < MIN_QUOTE_LENGTH && shown.some((one) => one.includes(text))) found.add(text)
    const left = all.length - found.size
    const stale = [...found].filter((text) => isStale.has(text)).length
    return { retained: found.size - stale, recoverable: canOpen ? left : 0, missing: canOpen ? 0 : left, stale }
  }
  return {
    demands: countsOf(people.flatMap(linesOf), replaced),
    decisions: countsOf(said.filter((line) => DECIDES.test(line))),
    errors: countsOf(
      commands.flatMap(({ error }) => error ?? []),
      fixed,
    ),
    files: countsOf(taken.flatMap((item) => (item.kind === 'call' ? (pathOf(item) ?? []) : []))),
    commands: countsOf(commands.map(({ command }) => command)),
    openItems: countsOf(
      planStateOf(taken)
        .items.filter(isOpen)
        .map(({ text }) => text),
    ),
  }
}

/** Of a message that is longer than twice this, its beginning and its end: it is a pasted file. */
const MOST_CHARACTERS = 128 * 1024
/** Of more lines, as many of them, evenly. */
const MOST_LINES = 5_000

/** Short messages are one line; of longer ones the lines that say something. */
function linesOf(text: string): readonly string[] {
  const shown =
    text.length <= 2 * MOST_CHARACTERS
      ? text
      : `${text.slice(0, MOST_CHARACTERS)}\n${text.slice(text.length - MOST_CHARACTERS)}`
  const lines = shown.split('\n').map((line) => line.trim())
  return lines.filter((line) => line.length >= MIN_QUOTE_LENGTH)
}

function namesKept(taken: readonly Item[], shown: readonly string[]): number {
  const used = new Set<string>()
  for (const item of taken) if (item.role === 'assistant') visitIdentifiers(item.text, (name) => used.add(name))
  const missing = new Set(used)
  for (const text of shown) visitIdentifiers(text, (name) => missing.delete(name))
  return shareOf(used.size - missing.size, used.size)
}

function linesKept(lines: readonly string[], shown: readonly string[]): number {
  const matcher = createLineMatcher([...new Set(lines)])
  const found = new Set(shown.flatMap((text) => matcher.scan(text).map((index) => matcher.lines[index]!)))
  const size = (some: readonly string[]): number => some.reduce((sum, line) => sum + line.length, 0)
  return shareOf(size(lines.filter((line) => found.has(line))), size(lines))
}

/** The newest of them stand for all: each is looked for in the whole view. */
const MOST_TEXTS = 1_000

const shareOf = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole)
