import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { cutHead } from '../../intake/text.ts'
import { storedText, type Draft, type StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import { askedFor } from '../summary/transcript.ts'
import { callLine, commonArguments, type CommonArguments } from './calls.ts'
import { changesOf, changeText, undoneIn } from './changes.ts'
import { excerptsFrom, hasHandle, sourcesOf } from './excerpts.ts'
import { factsOf, keepsPlan, openPart, outcomeOf, type Fact } from './facts.ts'
import { constraintsIn, spokenIn } from './said.ts'
import { textResultLine, textResultsIn } from './text-results.ts'
import { userMessages, type UserMessages } from './user-messages.ts'

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

/** Shares of the record's budget that its parts may take at most; what one leaves, those behind it have. */
export const USER_SHARE = 0.9
/** Of a talk without tools, where nothing else needs much. */
const TALK_SHARE = 0.95
const MEDIA_SHARE = 0.5
const ATTACHED_SHARE = 0.1
const PLAN_SHARE = 0.12
const PROSE_SHARE = 0.65
const CALL_SHARE = 0.16
const FACTS_SHARE = 0.12
const EXCERPT_SHARE = 0.97
/** Headings, blank lines and the closing line. */
const FRAME_TOKENS = 24
/** A shorter attachment is not worth a handle. */
const ATTACHED_CHARACTERS = 400

/**
 * The model-free record of the items at these places within so many tokens, in the order in which a colleague would write it: where things stand, what
 * people said, the state of the plan, files, what the model said and did, then excerpts of what was read and written. It is rebuilt from the
 * transcript every time, never from an earlier record, so nothing erodes.
 */
export function writeRecord(draft: Draft, folded: readonly number[], budgetTokens: number): HandoverRecord {
  const { countText, handleOf } = draft
  const textResults = textResultsIn(draft.items)
  const items = folded.map((index) => draft.items[index]!)
  const intro = joined([headLine(draft, items, textResults), askedFor(draft)])
  let left = budgetTokens - countText(intro) - FRAME_TOKENS
  const take = (text: string): string => {
    if (text !== '') left -= countText(text) + 2
    return text
  }
  const facts = factsOf(items, draft.items)
  const blocksOf = (part: Fact['part'], share: number): string =>
    take(
      factBlocks(
        facts.filter((fact) => fact.part === part),
        budgetTokens * share,
        countText,
      ),
    )
  const state = blocksOf('state', FACTS_SHARE)
  const people = items.filter((item) => isFromPerson(item) && !textResults.has(item))
  const isTalk = items.every(({ kind }) => kind !== 'call' && kind !== 'result') && textResults.size === 0
  const said = isTalk ? items.filter(({ kind, text }) => kind === 'assistant' && text.trim() !== '') : []
  const users = userMessages(draft, people, left * (isTalk ? TALK_SHARE : USER_SHARE), said)
  const spoken = take(users.text)
  const beside = attachmentsIn(draft, people, users.text, left * ATTACHED_SHARE)
  take(beside.text)
  const plan = blocksOf('plan', PLAN_SHARE)
  const work = blocksOf('work', FACTS_SHARE)
  const media = mediaFrom(draft, folded, left * MEDIA_SHARE)
  take(media.text)
  const common = commonArguments(items)
  const sources = sourcesOf(draft, folded, textResults, common)
  const entries = entriesOf(draft, items, textResults, users, common)
  const account = take(whatWasSaid(entries, left, sources.length === 0 ? EXCERPT_SHARE : PROSE_SHARE, countText))
  const opened = items.filter((item) => textResults.has(item) && hasHandle(draft, item))
  const excerpts = excerptsFrom(sources, Math.max(0, left) * EXCERPT_SHARE)
  const head = joined([intro, state, spoken, beside.text, plan, work])
  const body = joined([account, media.text, excerpts.text, '[End of the condensed record.]'])
  return {
    text: `${head}\n\n${body}`,
    head,
    body,
    facts: joined([state, plan, work]),
    stored: new Map([
      ...users.stored,
      ...beside.stored,
      ...media.stored,
      ...opened
        .map((item) => [handleOf(item.text), storedText(item)] as const)
        .filter(([handle]) => account.includes(handle)),
      ...excerpts.stored,
    ]),
  }
}

/** What clients put into user messages, by name with a handle; and lines that say what must or must not be done, which stand nowhere else in view. */
function attachmentsIn(
  draft: Draft,
  people: readonly Item[],
  shown: string,
  budget: number,
): Pick<HandoverRecord, 'text' | 'stored'> {
  const stored = new Map<Handle, StoredText>()
  const listed = new Map<string, string>()
  const rules = new Set<string>()
  const lines = new Set(shown.split('\n').map((line) => line.replace(/^\d+\. /, '').trim()))
  for (const { text } of people) {
    const { words, attached } = spokenIn(text)
    for (const one of attached) {
      const isLong = draft.readers.has('artifact_read') && one.text.length >= ATTACHED_CHARACTERS
      listed.set(one.name, isLong ? `${one.name} ${draft.handleOf(one.text)}` : one.name)
      if (isLong) stored.set(draft.handleOf(one.text), { text: one.text })
      if (one.isInstructions) for (const line of constraintsIn(one.text)) rules.add(line)
    }
    for (const line of constraintsIn(words)) if (!lines.has(line)) rules.add(line)
  }
  const blocks = [
    ['Rules in longer texts, as they stand there', [...rules]],
    ['Attached by the client, not said by the user', [...listed.values()]],
  ] as const
  let left = budget
  const texts = blocks.map(([heading, lines]) => {
    const block = lines.length === 0 ? '' : within(`${heading}:\n${lines.join('\n')}`, left, draft.countText)
    left -= draft.countText(block)
    return block.includes('\n') ? block : ''
  })
  const text = joined(texts)
  return { text, stored: new Map([...stored].filter(([handle]) => text.includes(handle))) }
}

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

/** Facts with their headings, while they fit; of a plan that does not, what is still to do. */
function factBlocks(facts: readonly Fact[], tokens: number, countText: (text: string) => number): string {
  let left = tokens
  const shown = facts.flatMap(({ heading, text }) => {
    const whole = `${heading}:\n${text}`
    const block = within(countText(whole) <= left ? whole : `${heading}:\n${openPart(text)}`, left, countText)
    if (!block.includes('\n')) return []
    left -= countText(block)
    return [block]
  })
  return joined(shown)
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

/** One entry of the account: something that the model said or called, or a user message by its number. */
interface Entry {
  readonly text: string
  readonly kind: 'said' | 'called' | 'user'
}

function entriesOf(
  draft: Draft,
  items: readonly Item[],
  textResults: ReadonlySet<Item>,
  { numbers, answers }: UserMessages,
  common: CommonArguments,
): Entry[] {
  const outcome = outcomeOf(items)
  const undone = undoneIn(items, numbers)
  const entries: Entry[] = []
  let again = 1
  let repeated = ''
  const add = (line: string, kind: Entry['kind']): void => {
    const isSame = kind === 'called' && line === repeated
    again = isSame ? again + 1 : 1
    repeated = kind === 'called' ? line : ''
    if (isSame) entries[entries.length - 1] = { text: `${line} ×${again}`, kind }
    else entries.push({ text: line, kind })
  }
  for (const [i, item] of items.entries()) {
    const text = item.text.trim()
    const number = numbers.get(item)
    const mark = undone.get(item) ?? ''
    // Beside parts of answers a number says what they answer.
    const isUnanswered = answers !== undefined && (answers.get(items[i + 1]!) ?? '') === ''
    const shown = answers === undefined ? text : (answers.get(item) ?? '')
    if (number !== undefined) {
      if (!isUnanswered) add(`[message ${number}]`, 'user')
    } else if (textResults.has(item))
      add(textResultLine(item, hasHandle(draft, item) ? draft.handleOf(item.text) : undefined), 'called')
    else if (item.kind === 'assistant' && shown !== '') add(`· ${shown}${mark}`, 'said')
    else if (item.kind === 'call' && !keepsPlan(item)) {
      const change = changeText(changesOf(item))
      const end = outcome(item)
      const line = `» ${callLine(item, undefined, common)}${change === '' ? '' : `: ${change}`}${end === undefined ? '' : ` → ${end}`}`
      add(`${line}${mark}`, 'called')
    }
  }
  const habits = [...common].map(([tool, found]) => `${tool} ${found.join(' ')}`)
  return habits.length === 0
    ? entries
    : [{ text: `(where a call shows nothing else: ${habits.join('; ')})`, kind: 'user' }, ...entries]
}

/** Of something that does not fit whole, its beginning. */
const HEAD_CHARACTERS = 160

/** What the model said, whole, the newest first in line for room, with one line for each of its calls; printed in order. */
function whatWasSaid(
  entries: readonly Entry[],
  tokens: number,
  proseShare: number,
  countText: (text: string) => number,
): string {
  const isCall = ({ kind }: Entry): boolean => kind === 'called'
  const calls = newestOf(entries, isCall, tokens * CALL_SHARE, countText)
  const room = Math.min(tokens * proseShare, tokens - calls.used)
  const prose = newestOf(entries, (entry) => !isCall(entry), room, countText)
  const shown = entries.map((_, i) => calls.texts.get(i) ?? prose.texts.get(i))
  const lines = shown.filter((text) => text !== undefined)
  if (lines.length === 0) return ''
  const left = entries.length - lines.length
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
    const form = [text, head].find((one) => one.length <= text.length && used + countText(one) + 1 <= tokens)
    misses = form === undefined ? misses + 1 : 0
    if (form === undefined) continue
    texts.set(i, form)
    used += countText(form) + 1
  }
  return { texts, used }
}

/** Of pictures and documents in results, this many are listed, the newest, as far as there is room; the others are in the archive. */
const MOST = 20

/** One line for each picture or document that leaves with a result: what it was, where it came from, and its handle. */
function mediaFrom(draft: Draft, folded: readonly number[], budget: number): Pick<HandoverRecord, 'text' | 'stored'> {
  const { items, turns, countText } = draft
  const callOf = new Map([...turns.answers].map(([call, result]) => [result, items[call]!]))
  const stored = new Map<Handle, StoredText>()
  const lines: string[] = []
  for (const index of folded) {
    const item = items[index]!
    if (item.media === undefined || item.role === 'user') continue
    const call = callOf.get(index)
    const from = call === undefined ? '' : `${callLine(call)}: `
    lines.push(...mediaLines(draft, item, stored).map((line) => from + line))
  }
  let left = budget
  const newest = lines.slice(-MOST)
  const shown = newest.slice(newest.findLastIndex((line) => (left -= countText(line) + 1) < 0) + 1)
  return { text: shown.length === 0 ? '' : `Pictures and documents that were seen:\n${shown.join('\n')}`, stored }
}
