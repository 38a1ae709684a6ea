import { visitIdentifiers, createLineMatcher, MIN_QUOTE_LENGTH } from '../../../core/quotes.ts'
import type { Item } from '../../../core/item.ts'
import type { Epoch, Receipt, ReceiptCounts, RecordRecall } from '../../../core/records.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import { pathOf } from './calls.ts'
import { isOpen, planStateOf, ranCommands } from './facts.ts'
import { changedSince, spokenIn } from './said.ts'
import { textResultsIn } from './text-results.ts'

/**
 * What a view still says of the items that an epoch drops or shortens: names that the model used, lines that people wrote, open entries of the plan,
 * errors of commands that still fail, files that were touched. Shares; 1 where there was nothing to keep.
 */
export function recallUnder(
  { conversation, links }: Pick<PrepareContext, 'conversation' | 'links'>,
  { edits }: Pick<Epoch, 'edits'>,
  view: Pick<View, 'conversation'>,
): RecordRecall {
  const taken = takenBy(conversation, links, edits)
  const shown = view.conversation.items.map(({ text }) => text)
  const results = textResultsIn(taken)
  const said = taken
    .filter((item) => item.kind === 'user' && !results.has(item))
    .flatMap(({ text }) => linesOf(spokenIn(text).words))
  const step = Math.ceil(said.length / MOST_LINES)
  const open = planStateOf(taken).items.filter(isOpen)
  return {
    names: namesKept(taken, shown),
    demands: linesKept(step <= 1 ? said : said.filter((_, i) => i % step === 0), shown),
    plan: textsKept(
      open.map(({ text }) => text),
      shown,
    ),
    errors: textsKept(
      ranCommands(taken).flatMap(({ error }) => error ?? []),
      shown,
    ),
    paths: textsKept(
      taken.flatMap((item) => (item.kind === 'call' ? (pathOf(item) ?? []) : [])),
      shown,
    ),
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

/** What became of what an epoch takes out: each text of a kind is in view, behind a tool of the request, or in the archive alone. */
export function receiptUnder(
  { conversation, links, epochReaders }: Pick<PrepareContext, 'conversation' | 'links' | 'epochReaders'>,
  { edits }: Pick<Epoch, 'edits'>,
  view: Pick<View, 'conversation'>,
): Receipt {
  const taken = takenBy(conversation, links, edits)
  const results = textResultsIn(taken)
  const shown = view.conversation.items.map(({ text }) => text)
  const canOpen = epochReaders().has('recall')
  const people = taken
    .filter((item) => item.kind === 'user' && !results.has(item))
    .map(({ text }) => spokenIn(text).words)
  const replaced = new Set([...changedSince(people).keys()].flatMap((index) => linesOf(people[index]!)))
  const commands = ranCommands(taken)
  const now = new Set(ranCommands(conversation.items).flatMap(({ command, exit }) => (exit === 0 ? [command] : [])))
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

function textsKept(texts: readonly string[], shown: readonly string[]): number {
  const all = [...new Set(texts)].slice(-MOST_TEXTS)
  return shareOf(all.filter((text) => shown.some((one) => one.includes(text))).length, all.length)
}

const shareOf = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole)
