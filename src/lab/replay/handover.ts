import type { Item } from '../../core/item.ts'
import { createLineMatcher, MIN_QUOTE_LENGTH } from '../../core/quotes.ts'
import { commandOf, mainArgument } from '../../engine/epoch/record/calls.ts'
import { changedLines, changesOf } from '../../engine/epoch/record/changes.ts'
import { lineKey } from '../../engine/epoch/record/excerpts.ts'
import { isOpen, planStateOf } from '../../engine/epoch/record/facts.ts'
import { spokenIn } from '../../engine/epoch/record/said.ts'
import { textResultsIn } from '../../engine/epoch/record/text-results.ts'
import { readableText } from './recall.ts'

/** How much of the covered history the prompt still says right after a compaction, as shares; 1 where there was nothing to keep. */
export interface Handover {
  /** Of the users' text, by characters in lines of at least 20 characters. */
  readonly userKept: number
  /** The same of the model's text. */
  readonly assistantKept: number
  /** Of the record's excerpt lines: those without a neighbouring line of the original. */
  readonly linesAlone: number
  /** Of the record's lines: those that only say that something was left out. */
  readonly gapMarks: number
  /** Of the calls in the record: those shown with their main argument. */
  readonly callsWithArgument: number
  /** Of the plan's entries that are not done. */
  readonly openItems: number
  /** Of the calls that changed a file: those whose change, or the beginning of it, is in view. */
  readonly editsWithChange: number
  /** Lines that call a command failed whose last run succeeded; a sum, not a mean. */
  readonly falseOutcomes: number
  readonly compactions: number
}

/** One compaction: the history before it, the view after it, and the record. */
export interface Compaction {
  readonly before: readonly Item[]
  readonly after: readonly Item[]
  readonly inserted: readonly string[]
}

/** Means over the compactions, so that a large one does not dominate. */
export function handoverOf(compactions: readonly Compaction[]): Handover {
  const measured = compactions.map(measureHandover)
  const mean = (name: keyof Measured, ofNone: 0 | 1): number =>
    measured.length === 0 ? ofNone : measured.reduce((sum, each) => sum + each[name], 0) / measured.length
  return {
    userKept: mean('userKept', 1),
    assistantKept: mean('assistantKept', 1),
    linesAlone: mean('linesAlone', 0),
    gapMarks: mean('gapMarks', 0),
    callsWithArgument: mean('callsWithArgument', 1),
    openItems: mean('openItems', 1),
    editsWithChange: mean('editsWithChange', 1),
    falseOutcomes: measured.reduce((sum, { falseOutcomes }) => sum + falseOutcomes, 0),
    compactions: measured.length,
  }
}

type Measured = Omit<Handover, 'compactions'>

function measureHandover({ before, after, inserted }: Compaction): Measured {
  const covered = before.slice(0, before.length - sharedEnd(before, after))
  const results = textResultsIn(covered)
  const users = covered.filter((item) => item.kind === 'user' && !results.has(item))
  const assistants = covered.filter(({ kind }) => kind === 'assistant')
  const view = after.map(readableText)
  const open = planStateOf(covered).items.filter(isOpen)
  const shown = view.join('\n')
  return {
    userKept: proseKept(
      // A command that was typed stands in a message in pieces.
      users.flatMap(({ text }) =>
        spokenIn(text)
          .words.split('\n')
          .filter((line) => text.includes(line)),
      ),
      view,
    ),
    assistantKept: proseKept(
      assistants.map(({ text }) => text),
      view,
    ),
    ...lineShape(covered, results, inserted),
    callsWithArgument: callsWithArgument(covered, inserted),
    editsWithChange: editsWithChange(covered, shown),
    falseOutcomes: falseOutcomes(before, inserted),
    openItems: open.length === 0 ? 1 : open.filter(({ text }) => shown.includes(text)).length / open.length,
  }
}

/** The number of items that both histories end with. */
function sharedEnd(before: readonly Item[], after: readonly Item[]): number {
  let count = 0
  while (count < before.length && count < after.length) {
    const [a, b] = [before[before.length - 1 - count]!, after[after.length - 1 - count]!]
    if (a.kind !== b.kind || a.text !== b.text) break
    count++
  }
  return count
}

function proseKept(texts: readonly string[], view: readonly string[]): number {
  const lines = texts.flatMap((text) => text.split('\n').map((line) => line.trim()))
  const long = lines.filter((line) => line.length >= MIN_QUOTE_LENGTH)
  const matcher = createLineMatcher([...new Set(long)])
  const kept = new Set(view.flatMap((text) => matcher.scan(text).map((index) => matcher.lines[index]!)))
  const all = long.reduce((sum, line) => sum + line.length, 0)
  return all === 0 ? 1 : long.reduce((sum, line) => sum + (kept.has(line) ? line.length : 0), 0) / all
}

/** A line that only says that something is missing, in any wording. */
const GAP = /^[^\p{L}\p{N}]*(?:(?:…|\.\.\.)[^\p{L}\p{N}]*|\[[^\]]*(?:left out|omitted|more lines|lines \d+)[^\]]*\])$/u

const lineKeys = (text: string): readonly string[] =>
  text
    .split('\n')
    .map(lineKey)
    .filter((key) => key !== '')

function lineShape(
  covered: readonly Item[],
  results: ReadonlySet<Item>,
  inserted: readonly string[],
): Pick<Handover, 'linesAlone' | 'gapMarks'> {
  const neighbours = new Set<string>()
  const known = new Set<string>()
  const prose = new Set<string>()
  for (const item of covered) {
    const keys = lineKeys(readableText(item))
    const isExcerpted = item.kind === 'result' || item.kind === 'call' || results.has(item)
    // A text of a single line has no neighbours.
    if (!isExcerpted || keys.length === 1) keys.forEach((key) => prose.add(key))
    else {
      for (const [i, key] of keys.entries()) {
        known.add(key)
        if (i > 0) neighbours.add(`${keys[i - 1]}\n${key}`)
      }
    }
  }
  let lines = 0
  let gaps = 0
  let excerpts = 0
  let alone = 0
  for (const text of inserted) {
    const keys = lineKeys(text)
    lines += keys.length
    for (const [i, key] of keys.entries()) {
      if (GAP.test(key)) gaps++
      else if (known.has(key) && !prose.has(key)) {
        excerpts++
        if (!neighbours.has(`${keys[i - 1]}\n${key}`) && !neighbours.has(`${key}\n${keys[i + 1]}`)) alone++
      }
    }
  }
  return { linesAlone: excerpts === 0 ? 0 : alone / excerpts, gapMarks: lines === 0 ? 0 : gaps / lines }
}

const CHANGE_CHARACTERS = 40

function editsWithChange(covered: readonly Item[], shown: string): number {
  const edits = covered.filter((item) => changesOf(item).length > 0)
  const kept = edits.filter((item) =>
    changesOf(item).some((change) =>
      changedLines(change).some((lines) =>
        lines.some((line) => shown.includes(line.trim().slice(0, CHANGE_CHARACTERS))),
      ),
    ),
  )
  return edits.length === 0 ? 1 : kept.length / edits.length
}

/** A record shows so much of a command's first line. */
const LINE = 160
const FAILED = /^\$ (.+) \((?:exit \d+|failed(?! before))[^)]*\)/
const SAYS_CODE = /\bexit(?:ed)?(?: with)?[ _](?:code|status)["']?[ :=]*([1-9]\d*)\b/i
/** Where no code is told, a last line that says it in so many words. */
const SAYS_FAILED = /(?:\bfail(?:ed|ure)?\b|\*\*\* .*Error \d|error(?: TS\d+)?:|Error: |not found|No such file).*$/i

/** Not by what wrote the record: a last run without a flag, a code above zero and a last line that speaks of failure succeeded. */
function falseOutcomes(before: readonly Item[], inserted: readonly string[]): number {
  const named = inserted.flatMap((text) => text.split('\n').flatMap((line) => FAILED.exec(line)?.[1] ?? []))
  const results = new Map(before.map((item) => [item.kind === 'result' ? item.callId : undefined, item]))
  return named.filter((command) => {
    const last = before.findLast(
      (item) =>
        item.kind === 'call' &&
        commandOf(item)
          ?.replaceAll(/\s*\n\s*/g, '; ')
          .slice(0, LINE) === command,
    )
    const result = results.get(last?.callId)
    return (
      last !== undefined &&
      result !== undefined &&
      result.isError !== true &&
      !SAYS_CODE.test(result.text) &&
      !SAYS_FAILED.test(result.text.trimEnd().split('\n').at(-1)!)
    )
  }).length
}

const ARGUMENT_CHARACTERS = 30
const CALL_LINE = /^[»>*\-•\s]*(\S+)/

function callsWithArgument(covered: readonly Item[], inserted: readonly string[]): number {
  const byTool = new Map<string, Set<string>>()
  for (const item of covered) {
    if (item.kind !== 'call' || item.toolName === undefined) continue
    const main = mainArgument(item).slice(0, ARGUMENT_CHARACTERS)
    if (main === '') continue
    byTool.set(item.toolName, (byTool.get(item.toolName) ?? new Set()).add(main))
  }
  let shown = 0
  let complete = 0
  for (const text of inserted) {
    const lines = text.split('\n')
    for (const [i, line] of lines.entries()) {
      if (!/^\s*[»>]/.test(line)) continue
      const wanted = byTool.get(CALL_LINE.exec(line)?.[1] ?? '')
      if (wanted === undefined) continue
      shown++
      const near = `${line}\n${lines[i + 1] ?? ''}`
      if ([...wanted].some((main) => near.includes(main))) complete++
    }
  }
  return shown === 0 ? 1 : complete / shown
}
