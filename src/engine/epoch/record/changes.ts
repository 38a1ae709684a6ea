import type { Item } from '../../../core/item.ts'
import { isRecord, textOf } from '../../../core/values.ts'
import { cutHead } from '../../intake/text.ts'
import { argumentsOf, commandOf, pathOf, pathsInPatch } from './calls.ts'

/** What a call replaced in a file, and by what; `from` is empty for a new text. */
export interface Change {
  readonly path: string
  readonly from: string
  readonly to: string
}

const WRITES = /edit|write|patch|replace|create|apply/i
/** What an editor with one name for everything is told to do, where that changes nothing. */
const READS = /^(?:view|read|open|cat|list)$/i
const BEFORE = /^(?:old|search$|before$|to_replace)/i
const AFTER = /^(?:new|replace$|replacement$|after$|content$|file_text$|text$)/i
const PATCH = /^\*\*\* (?:Begin|Update|Add|Delete)|^--- |^[-<]{4,10} ?SEARCH/m
/** Calls in a language: `edit_file_by_replace('a.css', to_replace="""…""", new_content="""…""")`. */
const NAME = /\b(to_replace|old_\w{1,20}|new_\w{1,20}|content)\s{0,9}=\s{0,9}$/
const FIRST_TEXT = /\b(?:edit|write|insert|create|append)\w*\(\s*(?:\w+\s*=\s*)?["']([^"'\n]{1,300})["']/

const known = new WeakMap<Item, readonly Change[]>()

/** The changes that a call makes, whatever its tool calls them; of a tool that runs commands, those that a patch in the command makes. */
export function changesOf(call: Item): readonly Change[] {
  const found = known.get(call) ?? (call.kind === 'call' ? readChanges(call) : [])
  known.set(call, found)
  return found
}

function readChanges(call: Item): readonly Change[] {
  const input = argumentsOf(call)
  const command = commandOf(call)
  if (pathsInPatch(call.text).length > 0)
    return inPatch(textsOf(input ?? call.text).find((text) => PATCH.test(text)) ?? '')
  const path = pathOf(call)
  if (input === undefined || path === undefined) return command === undefined ? [] : inCode(command)
  if (!WRITES.test(call.toolName ?? '') || READS.test(textOf(input['command']))) return []
  const blocks = textsOf(input).find((text) => PATCH.test(text))
  if (blocks !== undefined) return inBlocks(path, blocks)
  const several = Object.values(input).find((value) => Array.isArray(value) && value.some(isRecord))
  const parts: readonly unknown[] = Array.isArray(several) ? several : [input]
  return parts.filter(isRecord).map((part) => {
    const [from = '', to = ''] = [BEFORE, AFTER].map((name) =>
      Object.entries(part)
        .flatMap(([key, value]) => (name.test(key) && typeof value === 'string' ? [value] : []))
        .join('\n'),
    )
    return { path, from, to }
  })
}

const textsOf = (input: unknown): readonly string[] =>
  typeof input === 'string'
    ? [input]
    : Object.values(input as object)
        .flat()
        .filter((value) => typeof value === 'string')

function inCode(code: string): readonly Change[] {
  const path = FIRST_TEXT.exec(code)?.[1]
  if (path === undefined) return []
  const parts = code.split(/"""|'''/)
  const texts = parts.flatMap((text, i): (readonly [name: string, text: string])[] => {
    const name = i % 2 === 0 ? undefined : NAME.exec(parts[i - 1]!.slice(-60))?.[1]
    return name === undefined ? [] : [[name, text]]
  })
  if (texts.length === 0) return []
  const of = (isOld: boolean): string =>
    texts.flatMap(([name, text]) => (/^(?:to_replace|old_)/.test(name) === isOld ? [text] : [])).join('\n')
  return [{ path, from: of(true), to: of(false) }]
}

/** Codex' patches and unified diffs. */
function inPatch(patch: string): readonly Change[] {
  const files: { path: string; from: string[]; to: string[] }[] = []
  for (const line of patch.split('\n')) {
    const [path] = pathsInPatch(line)
    if (path !== undefined) files.push({ path, from: [], to: [] })
    else if (line.startsWith('-') && !line.startsWith('---')) files.at(-1)?.from.push(line.slice(1))
    else if (line.startsWith('+') && !line.startsWith('+++')) files.at(-1)?.to.push(line.slice(1))
  }
  return files.map(({ path, from, to }) => ({ path, from: from.join('\n'), to: to.join('\n') }))
}

/** Cline's `SEARCH`/`REPLACE` blocks. */
const inBlocks = (path: string, text: string): readonly Change[] =>
  text
    .split(/^[-<]{4,10} ?SEARCH.*\n/m)
    .slice(1)
    .map((block) => {
      const [from = '', to = ''] = block.split(/^[+>]{4,10} ?REPLACE/m, 1)[0]!.split(/^={4,10}\n/m)
      return { path, from, to }
    })

/** Lines of each side that the other has not: what stands around a change is no part of it. */
export function changedLines({ from, to }: Change): readonly [gone: readonly string[], come: readonly string[]] {
  const [before, after] = [from, to].map((text) => text.split('\n').filter((line) => line.trim() !== '')) as [
    string[],
    string[],
  ]
  const [old, fresh] = [new Set(before), new Set(after)]
  return [before.filter((line) => !fresh.has(line)), after.filter((line) => !old.has(line))]
}

const SIDE_CHARACTERS = 40

/** What changed, in a few words: the first line that went and the first that came. */
export function changeText(changes: readonly Change[]): string {
  const sides = changes.map(changedLines)
  const [gone, come] = [sides.flatMap(([lines]) => lines), sides.flatMap(([, lines]) => lines)]
  const side = (lines: readonly string[]): string => {
    const first = (lines.find((line) => (line.match(/[\p{L}\p{N}]/gu)?.length ?? 0) > 5) ?? lines[0]!).trim()
    const text = first.length > SIDE_CHARACTERS ? `${cutHead(first, SIDE_CHARACTERS)}…` : first
    return lines.length === 1 ? `“${text}”` : `“${text}” (${lines.length} lines)`
  }
  if (gone.length === 0) return come.length === 0 ? '' : `+ ${side(come)}`
  return come.length === 0 ? `− ${side(gone)}` : `${side(gone)} → ${side(come)}`
}

const NOT_MADE =
  /^\s*(?:<tool_use_error>|\[?error\b|no replacement was (?:made|performed)|failed to)|\b(?:did not appear verbatim|(?:string|text|context|pattern) (?:to replace )?(?:was )?not found|no (?:exact )?match|not unique|multiple (?:occurrences|matches)|has not been (?:read|changed|applied|updated)|was not (?:found|applied)|edit was not applied|could not find|introduced? (?:new )?syntax error|must be unique|verification failed)\b/i

const MADE = /\b(?:has been (?:updated|edited|created|replaced)|successfully|^success|done!?$)\b/i

/** Why a change was not made, where its result says so. */
export function notMade(result: Item | undefined): string | undefined {
  if (result === undefined) return undefined
  // What follows is often the changed text itself, which may speak of errors.
  const lines = result.text.slice(0, 1_200).trim().split('\n', 3)
  if (result.isError !== true && MADE.test(lines[0]!)) return undefined
  const line =
    lines.find((one) => NOT_MADE.test(one)) ??
    (result.isError === true ? lines.find((one) => one.trim() !== '') : undefined)
  const said = /^\W*error\W*$/i.test(line ?? '') ? lines[lines.indexOf(line!) + 1] : line
  return said === undefined ? undefined : cutHead(said.replaceAll(/<\/?\w+>/g, '').trim(), 120)
}

/** What a person writes to take something back; a longer message says more than that. */
const UNDO =
  /^\W*(?:(?:no|wait|stop|please|ok|actually|hmm)\b[\s,.!]*)*(?:can you |could you |let'?s |we should )?(?:please )?(?:undo|revert|roll ?back|take (?:that|this|it) back|put (?:that|this|it) back|discard)\b/i
const REJECT =
  /^\W*(?:no\b|nope\b|that'?s (?:wrong|not (?:right|correct|what))|this is (?:wrong|not (?:right|what))|i (?:don'?t|do not) (?:like|want) (?:this|that|it)\b|wrong\b|not what i\b)/i
const UNDO_CHARACTERS = 300
const GIT_UNDO = /\bgit\s+(?:checkout|restore)\s+(?:[\w./~^-]+\s+)?(?:--\s+)?([^&|;\n]+)/

/**
 * Marks for what no longer stands, by item: changes that the user had undone, what the model had said when the user answered with a plain no, and
 * changes to files that git put back. Of a message that names files, only changes to those.
 */
export function undoneIn(items: readonly Item[], numbers: ReadonlyMap<Item, number>): ReadonlyMap<Item, string> {
  const marks = new Map<Item, string>()
  let turn: Item[] = []
  let before: Item[] = []
  for (const item of items) {
    const number = numbers.get(item)
    const restored = item.kind === 'call' ? GIT_UNDO.exec(commandOf(item) ?? '')?.[1] : undefined
    if (number !== undefined) {
      const text = item.text.trim()
      const isUndo = text.length <= UNDO_CHARACTERS && UNDO.test(text)
      const last = turn.findLast(({ kind }) => kind === 'assistant')
      if (isUndo) {
        const edits = turn.filter((one) => changesOf(one).length > 0)
        const named = edits.filter((one) => changesOf(one).some(({ path }) => text.includes(path.split('/').at(-1)!)))
        for (const one of named.length > 0 ? named : edits) marks.set(one, ` (undone by the user, message ${number})`)
        if (last !== undefined && edits.length > 0 && named.length === 0)
          marks.set(last, ` (undone by the user, message ${number})`)
      } else if (last !== undefined && text.length <= UNDO_CHARACTERS && REJECT.test(text)) {
        marks.set(last, ` (rejected by the user, message ${number})`)
      }
      turn = []
    } else turn.push(item)
    if (restored !== undefined) {
      const isBack = (path: string): boolean =>
        restored
          .split(/\s+/)
          .some((name) => name === '.' || (name !== '' && (path === name || path.endsWith(`/${name}`))))
      for (const one of before.slice(-500))
        if (changesOf(one).some(({ path }) => isBack(path))) marks.set(one, ' (undone with git)')
    }
    if (item.kind === 'call' && changesOf(item).length > 0) before.push(item)
  }
  return marks
}
