import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { Pause } from '../../../util/yield-now.ts'
import { storedText, type Draft, type StoredText } from '../cascade/draft.ts'
import { askedFor } from '../summary/asked-for.ts'
import { callReader } from './arguments.ts'
import { hasHandle, sourceReader, type SourceReader } from './excerpts/excerpt-sources.ts'
import { chooseExcerpts, renderExcerpt } from './excerpts/excerpts.ts'
import { factsOf, outcomeOf, type Fact } from './facts.ts'
import { mediaFrom } from './media.ts'
import { openPart } from './plan-state.ts'
import { whatWasSaid } from './said.ts'
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

/** Writes the record of the items at these places within so many tokens; others get to work between its parts. */
export type RecordWriter = (folded: readonly number[], budgetTokens: number) => Promise<HandoverRecord>

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
export function recordWriter(draft: Draft, pause: Pause): RecordWriter {
  const { countText } = draft
  const results = textResultsIn(draft.items)
  const calls = callReader()
  const reader = sourceReader(draft, results, calls)
  return async (folded, budgetTokens) => {
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
    await pause()
    const { plan, rest: facts } = factBlocks(factsOf(items, calls), budgetTokens, countText)
    take(plan)
    take(facts)
    await pause()
    const media = mediaFrom(draft, folded, calls, left * MEDIA_SHARE)
    take(media.text)
    await pause()
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
    await pause()
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
