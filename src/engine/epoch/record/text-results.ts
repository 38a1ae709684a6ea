import type { Item } from '../../../core/item.ts'
import { cutHead } from '../../intake/text.ts'

/** What an agent prints in front of the output of an action that its model wrote as text. */
const MARKED =
  /^\s*(?:\[[^\]\n]{1,200}\]\s*result:|(?:observation|execution result|tool (?:result|output)|output|command output)\b[^\n]{0,80}:|i ran this command:|<(?:tool_response|tool_result|function_results?|observation|results?|stdout|output|execution_result|environment_details)\b)/i
/** What a model ends on when it acts in text: a fenced block, an element, or a line that names an action. */
const ACTS = /(?:```\s*|<\/[\w:.-]+>\s*|\n\s*(?:action|action input|command)\s*:[^\n]*\s*)$/i
/** Fewer exchanges than this are no loop. */
const LEAST = 3
/** Of the messages that come after an answer, this share follows an action in a loop. */
const LOOP_SHARE = 0.7
/** A person answers in less. */
const SPOKEN = 200
const LINE_CHARACTERS = 120
/** What went wrong says more than that something did. */
const ERROR = /^(?:[A-Z]\w*(?:Error|Exception)|error|fatal)\b/

/**
 * User messages that are really the results of actions which the model wrote as text: agents without native tools send what an action gave
 * as the next user message. Known by the loop that they stand in, not by the agent: short answers and everything in conversations with native
 * calls stay what a person said.
 */
export function textResultsIn(items: readonly Item[]): ReadonlySet<Item> {
  const none: ReadonlySet<Item> = new Set()
  const answered: { readonly item: Item; readonly follows: boolean }[] = []
  let said: Item | undefined
  for (const item of items) {
    if (item.kind === 'call' || item.kind === 'result') return none
    if (item.kind === 'assistant') said = item
    else if (item.kind === 'user' && said !== undefined) {
      answered.push({ item, follows: ACTS.test(said.text.slice(-400).trimEnd()) })
    }
  }
  const following = answered.filter(({ follows }) => follows)
  const isLoop = following.length >= LEAST && following.length >= LOOP_SHARE * answered.length
  const ends = new Map<string, number>()
  for (const { item } of answered) ends.set(lastLine(item), (ends.get(lastLine(item)) ?? 0) + 1)
  const found = answered.filter(({ item, follows }) => {
    if (MARKED.test(item.text)) return follows || isLoop
    const isPrompted = item.text.trim().includes('\n') && ends.get(lastLine(item))! >= LEAST
    return isLoop && follows && (item.text.length > SPOKEN || isPrompted)
  })
  return new Set(found.map(({ item }) => item))
}

/** What came back, in one line: how the agent announces it, and how much it was. */
export function textResultLine({ text }: Item, handle: string | undefined): string {
  const lines = text.trim().split('\n')
  const first = lines.find((line) => /[\p{L}\p{N}]/u.test(line))?.trim() ?? ''
  const last = lines.at(-1)!.trim()
  const said = ERROR.test(last) ? last : first
  const size = lines.length === 1 ? '' : ` (${lines.length} lines${handle === undefined ? '' : `, ${handle}`})`
  return `« ${said.length > LINE_CHARACTERS ? `${cutHead(said, LINE_CHARACTERS)}…` : said}${size}`
}

const lastLine = ({ text }: Item): string => text.slice(-200).trimEnd().split('\n').at(-1)!
