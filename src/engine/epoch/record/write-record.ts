import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { cutHead } from '../../intake/text.ts'
import { storedText, type Draft, type StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import { askedFor } from '../summary/transcript.ts'
import { callReader, type CallReader } from './calls.ts'
import { hasHandle, sourceReader, type SourceReader } from './excerpt-sources.ts'
import { chooseExcerpts, renderExcerpt } from './excerpts.ts'
import { factsOf, keepsPlan, openPart, outcomeOf, type Fact } from './facts.ts'
import { textResultLine, textResultsIn } from './text-results.ts'
import { userMessages } from './user-messages.ts'

/** What stands in place of folded items. */
export interface HandoverRecord {
  readonly text: string
  /** The text in its two parts: between them is room for a model's account. */
  readonly head: string
  readonly body: string
  /** What stands in it about the state of the work. */
  readonly facts: string
  readonly stored: ReadonlyMap<Handle, StoredText>
}

/** Writes the record of the items at these places within so many tokens. */
export type RecordWriter = (folded: readonly number[], budgetTokens: number) => HandoverRecord

/** Shares of the record's budget that its parts may take at most; what one leaves, those behind it have. */
const USER_SHARE = 0.5
const MEDIA_SHARE = 0.5
const PLAN_SHARE = 0.12
const PROSE_SHARE = 0.65
const CALL_SHARE = 0.16
const FACTS_SHARE = 0.12
/** In a small record, shares of it would hold no line: these may take this much, as long as it is no more than a third of what is left. */
const LEAST_PLAN_TOKENS = 400
const LEAST_CALL_TOKENS = 400
const LEAST_FACT_TOKENS = 200
const MOST_OF_SMALL = 0.35
/** Headings, blank lines and the closing line. */
const FRAME_TOKENS = 20

/**
 * The model-free record, in the order in which a colleague would write it: what people said, the state of the plan, what the model said and
 * did, files, commands, refusals, then excerpts of what was read and written. It is rebuilt from the transcript every time, never from an
 * earlier record, so nothing erodes.
 */
export function recordWriter(draft: Draft): RecordWriter {
  const { countText } = draft
  const results = textResultsIn(draft.items)
  const calls = callReader()
  const reader = sourceReader(draft, results, calls)
  return (folded, budgetTokens) => {
    const items = folded.map((index) => draft.items[index]!)
    const intro = joined([headLine(draft, items, results), askedFor(draft)])
    let left = budgetTokens - countText(intro) - FRAME_TOKENS
    const take = (text: string): string => {
      if (text !== '') left -= countText(text) + 2
      return text
    }
    const people = items.filter((item) => isFromPerson(item) && !results.has(item))
    const users = userMessages(draft, people, left * USER_SHARE)
    const said = take(users.text)
    const { plan, rest: facts } = factBlocks(factsOf(items, calls), budgetTokens, countText)
    take(plan)
    take(facts)
    const media = mediaFrom(draft, folded, calls, left * MEDIA_SHARE)
    take(media.text)
    const account = take(
      whatWasSaid(items, {
        countText,
        calls,
        numbers: users.numbers,
        outcomeOf: outcomeOf(items, calls),
        answerLine: (item) =>
          results.has(item)
            ? textResultLine(item, hasHandle(draft, item) ? draft.handleOf(item.text) : undefined)
            : undefined,
        tokens: left,
        proseTokens: left * PROSE_SHARE,
        callTokens: shareOf(left, CALL_SHARE, LEAST_CALL_TOKENS),
      }),
    )
    const answers = items.filter((item) => results.has(item) && hasHandle(draft, item))
    const opened = answers.filter(({ text }) => account.includes(draft.handleOf(text)))
    const excerpts = excerptsFrom(draft, reader, folded, Math.max(0, left) * 0.97)
    const head = joined([intro, said, plan])
    const body = joined([account, facts, media.text, excerpts.text, '[End of the condensed record.]'])
    return {
      text: `${head}\n\n${body}`,
      head,
      body,
      facts: joined([plan, facts]),
      stored: new Map([
        ...users.stored,
        ...media.stored,
        ...opened.map((item) => [draft.handleOf(item.text), storedText(item)] as const),
        ...excerpts.stored,
      ]),
    }
  }
}

/** A share, and of little at least so much as says something. */
const shareOf = (tokens: number, share: number, least: number): number =>
  Math.max(tokens * share, Math.min(least, tokens * MOST_OF_SMALL))

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n')

const isFromPerson = ({ kind, role }: Item): boolean => kind === 'user' || (kind === 'media' && role === 'user')

function headLine(draft: Draft, items: readonly Item[], textResults: ReadonlySet<Item>): string {
  const calls = items.filter((item) => item.kind === 'call' || textResults.has(item)).length
  const recall = draft.readers.get('recall')
  const actsInText = textResults.size > 0
  // An agent that acts in text would look for the tool among its actions, and no action of that name is answered.
  const kind = actsInText ? ', by a function call and not as an action in text,' : ''
  // Without tools of its own its requests get none of ours: what it can do is what it did before.
  const again = actsInText
    ? ' An action that only reads can be repeated as it stands below to see its output again.'
    : ''
  const how = recall === undefined ? again : ` Use ${recall}${kind} to search it.`
  return (
    `[Condensed record of ${items.length} earlier items with ${calls} tool calls, taken out of view to stay within the ` +
    `context window. It tells what happened; it is not an instruction. The full text is archived.${how}]`
  )
}

/** Facts with their headings, within their shares; the plan apart, since it belongs to the task. */
function factBlocks(
  facts: readonly Fact[],
  budget: number,
  countText: (text: string) => number,
): { readonly plan: string; readonly rest: string } {
  const blocks = (chosen: readonly Fact[], most: number, shorter = (text: string) => text): string => {
    let left = most
    const shown = chosen.flatMap(({ heading, text }) => {
      const whole = `${heading}:\n${text}`
      const block = within(countText(whole) <= left ? whole : `${heading}:\n${shorter(text)}`, left, countText)
      if (!block.includes('\n')) return []
      left -= countText(block)
      return [block]
    })
    return joined(shown)
  }
  const isPlan = ({ heading }: Fact): boolean => heading.startsWith('Plan')
  return {
    plan: blocks(facts.filter(isPlan), shareOf(budget, PLAN_SHARE, LEAST_PLAN_TOKENS), openPart),
    rest: blocks(
      facts.filter((fact) => !isPlan(fact)),
      shareOf(budget, FACTS_SHARE, LEAST_FACT_TOKENS),
    ),
  }
}

/** Whole lines from the start while they fit. */
function within(text: string, budget: number, countText: (text: string) => number): string {
  if (text === '' || countText(text) <= budget) return text
  const kept: string[] = []
  let left = budget
  for (const line of text.split('\n')) {
    const cost = countText(line) + 1
    if (cost > left) break
    left -= cost
    kept.push(line)
  }
  return kept.join('\n')
}

function excerptsFrom(
  draft: Draft,
  reader: SourceReader,
  folded: readonly number[],
  budget: number,
): { readonly text: string; readonly stored: ReadonlyMap<Handle, StoredText> } {
  const sources = folded.map((index) => reader.sourceAt(index)).filter((source) => source !== undefined)
  const chosen = chooseExcerpts(sources, budget, reader.shownWithout(new Set(folded)))
  const stored = new Map<Handle, StoredText>()
  const shown: string[] = []
  for (const [i, source] of sources.entries()) {
    if (chosen[i]!.length === 0) continue
    shown.push(renderExcerpt(source, chosen[i]!))
    if (source.item.kind === 'result' && hasHandle(draft, source.item))
      stored.set(draft.handleOf(source.item.text), storedText(source.item))
  }
  const heading = 'Excerpts, verbatim and in order (» written or run, « result, … left out):'
  return { text: shown.length === 0 ? '' : [heading, ...shown].join('\n'), stored }
}

/** One entry of the account: something that the model said or called, or a user message by its number. */
interface Entry {
  readonly text: string
  readonly kind: 'said' | 'called' | 'user'
}

interface SaidOptions {
  readonly countText: (text: string) => number
  readonly calls: CallReader
  /** Numbers of the user messages that are shown elsewhere. */
  readonly numbers: ReadonlyMap<Item, number>
  readonly outcomeOf: (call: Item) => string | undefined
  /** A line for what came back for an action that the model wrote as text; undefined for other items. */
  readonly answerLine: (item: Item) => string | undefined
  /** Tokens for all of it, at most for what the model said, and for its calls. */
  readonly tokens: number
  readonly proseTokens: number
  readonly callTokens: number
}

/** Of something that does not fit whole, its beginning. */
const HEAD_CHARACTERS = 160

/** What the model said, whole, the newest first in line for room, with one line for each of its calls; printed in order. */
function whatWasSaid(items: readonly Item[], options: SaidOptions): string {
  const { countText, tokens, proseTokens, callTokens } = options
  const entries = entriesOf(items, options)
  const isCall = ({ kind }: Entry): boolean => kind === 'called'
  const calls = newestOf(entries, isCall, callTokens, countText)
  const prose = newestOf(entries, (entry) => !isCall(entry), Math.min(proseTokens, tokens - calls.used), countText)
  const shown = entries.map((_, i) => calls.texts.get(i) ?? prose.texts.get(i))
  const lines = shown.filter((text, i) => text !== undefined && !isBareMarker(entries, shown, i))
  if (lines.length === 0) return ''
  const left = shown.filter((text) => text === undefined).length
  const older = left === 0 ? '' : `, ${left} older entries left out`
  return `What the model said (·) and called (»), in order${older}:\n${lines.join('\n')}`
}

/** A line that is short enough for what is left may come after longer ones, but rarely after this many. */
const MOST_MISSES = 200

/** The newest of some entries that fit, by their place; of something said that does not fit whole, its beginning. */
function newestOf(
  entries: readonly Entry[],
  wanted: (entry: Entry) => boolean,
  tokens: number,
  countText: (text: string) => number,
): { readonly texts: ReadonlyMap<number, string>; readonly used: number } {
  const texts = new Map<number, string>()
  let used = 0
  let misses = 0
  // Of a long history most need not be counted: where so many in a row had no room, none will.
  for (let i = entries.length - 1; i >= 0 && used + 1 < tokens && misses < MOST_MISSES; i--) {
    const { text, kind } = entries[i]!
    if (!wanted(entries[i]!)) continue
    const head = kind === 'said' ? `${cutHead(text, HEAD_CHARACTERS)} […]` : text
    misses++
    for (const form of head.length < text.length ? [text, head] : [text]) {
      const cost = countText(form) + 1
      if (used + cost > tokens) continue
      texts.set(i, form)
      used += cost
      misses = 0
      break
    }
  }
  return { texts, used }
}

function entriesOf(items: readonly Item[], { calls, numbers, outcomeOf, answerLine }: SaidOptions): Entry[] {
  const entries: Entry[] = []
  for (const item of items) {
    const text = item.text.trim()
    const number = numbers.get(item)
    const answer = number === undefined ? answerLine(item) : undefined
    if (answer !== undefined) entries.push({ text: answer, kind: 'called' })
    else if (number !== undefined) entries.push({ text: `[user message ${number}: ${quoteOf(text)}]`, kind: 'user' })
    else if (item.kind === 'assistant' && text !== '') entries.push({ text: `· ${text}`, kind: 'said' })
    else if (item.kind === 'call' && !keepsPlan(item, calls)) {
      const outcome = outcomeOf(item)
      entries.push({ text: `» ${calls.callLine(item)}${outcome === undefined ? '' : ` → ${outcome}`}`, kind: 'called' })
    }
  }
  return entries
}

/** A user message that nothing is shown after needs no place in the account. */
function isBareMarker(entries: readonly Entry[], shown: readonly (string | undefined)[], index: number): boolean {
  if (entries[index]!.kind !== 'user') return false
  for (let i = index + 1; i < entries.length && entries[i]!.kind !== 'user'; i++)
    if (shown[i] !== undefined) return false
  return true
}

const QUOTE_CHARACTERS = 40

function quoteOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= QUOTE_CHARACTERS ? line : `${cutHead(line, QUOTE_CHARACTERS)}…`
}

/** Of pictures and documents in results, this many are listed, the newest, as far as there is room; the others are in the archive. */
const MOST = 20

/** One line for each picture or document that leaves with a result: what it was, where it came from, and its handle. */
function mediaFrom(
  draft: Draft,
  folded: readonly number[],
  calls: CallReader,
  budget: number,
): { readonly text: string; readonly stored: ReadonlyMap<Handle, StoredText> } {
  const callOf = new Map<number, Item>()
  for (const [call, result] of draft.turns.answers) callOf.set(result, draft.items[call]!)
  const stored = new Map<Handle, StoredText>()
  const lines: string[] = []
  for (const index of folded) {
    const item = draft.items[index]!
    if (item.media === undefined || item.role === 'user') continue
    const call = callOf.get(index)
    const found = mediaLines(draft, item)
    for (const { handle, stored: file } of found.files) stored.set(handle, file)
    lines.push(...found.lines.map((line) => (call === undefined ? line : `${calls.callLine(call)}: ${line}`)))
  }
  if (lines.length === 0) return { text: '', stored }
  let left = budget
  const shown = lines.slice(-MOST)
  const first = shown.findLastIndex((line) => (left -= draft.countText(line) + 1) < 0) + 1
  if (first === shown.length) return { text: '', stored }
  return { text: `Pictures and documents that were seen:\n${shown.slice(first).join('\n')}`, stored }
}
