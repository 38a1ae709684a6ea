import { cutHead } from '../../intake/text.ts'

/** A text that a client put into a user message: a skill, an instruction file, a reminder, the output of a command of its own. */
export interface Attachment {
  readonly name: string
  readonly text: string
  /** Rules for the work, as against a text that served one step. */
  readonly isInstructions: boolean
}

export interface Spoken {
  /** What the person wrote. */
  readonly words: string
  readonly attached: readonly Attachment[]
}

/** Elements that clients write and people do not. */
const ELEMENTS =
  /<(skill|system-reminder|system_reminder|environment_context|environment_details|INSTRUCTIONS|user_instructions|local-command-caveat|local-command-stdout|local-command-stderr|command-message|command-name|command-args|bash-input|bash-stdout|bash-stderr|current_datetime|sql_tables|ide_opened_file|ide_selection|ide_diagnostics|file_content|file|task-notification|system_notification|SYSTEM_NOTICE|turn_aborted|attached_files|workspace_info|userMemory)\b[^>\n]*>/g
/** What a person typed, in an element of the client's. */
const TYPED: Readonly<Record<string, string>> = { 'command-name': '', 'command-args': '', 'bash-input': '! ' }
const INSTRUCTIONS = /^(?:INSTRUCTIONS|user_instructions|userMemory)$/
const HEADING = /^# (\S*\.md) instructions for \S*[ \t]*$/m
const SKILL = /^Base directory for this skill: (\S+)/
const MENTIONED = /^-+ Content from referenced files -+$/m
const EMPTY: Spoken = { words: '', attached: [] }

/** What a person wrote in a message, and what a client put beside it. One pass over the text. */
export function spokenIn(text: string): Spoken {
  const skill = SKILL.exec(text)?.[1]
  if (skill !== undefined)
    return { ...EMPTY, attached: [{ name: `skill ${lastPart(skill)}`, text, isInstructions: false }] }
  const mentioned = text.search(MENTIONED)
  if (mentioned >= 0) {
    const files = { name: 'files that were mentioned', text: text.slice(mentioned), isInstructions: false }
    const { words, attached } = spokenIn(text.slice(0, mentioned))
    return { words, attached: [...attached, files] }
  }
  const words: string[] = []
  const attached: Attachment[] = []
  const unclosed = new Set<string>()
  let from = 0
  const found = text.includes('<') ? [...text.matchAll(ELEMENTS)] : []
  for (const match of found) {
    const [opening, tag] = match as unknown as [string, string]
    // An element inside another one, and one that is only spoken of.
    if (match.index < from || unclosed.has(tag)) continue
    const end = text.indexOf(`</${tag}>`, match.index)
    if (end < 0) unclosed.add(tag)
    if (end < 0) continue
    const inner = text.slice(match.index + opening.length, end).trim()
    const between = text.slice(from, match.index)
    words.push(between.trim() === '' ? '' : between)
    if (tag in TYPED) words.push(inner === '' ? '' : `${TYPED[tag]}${inner} `)
    else attached.push({ name: nameOf(opening, tag, inner), text: inner, isInstructions: INSTRUCTIONS.test(tag) })
    from = end + tag.length + 3
  }
  if (from === 0) return { words: text.trim(), attached }
  words.push(text.slice(from))
  const isInstructions = attached.some((one) => one.isInstructions)
  const left = words.join('').replace(isInstructions ? HEADING : /^$/, '')
  return { words: left.trim(), attached: attached.filter((one) => one.text !== '') }
}

const lastPart = (path: string): string => path.split(/[/\\]/).findLast((part) => part !== '') ?? path

function nameOf(opening: string, tag: string, inner: string): string {
  const named = /\b(?:path|name)="([^"]+)"/.exec(opening)?.[1] ?? /^\s*<(?:name|path)>([^<]+)</.exec(inner)?.[1]
  return named === undefined ? tag : `${tag} ${named}`
}

const CONSTRAINT =
  /\b(?:never|don['’]?t|do not|must(?: not|n['’]t)?|may not|not allowed|forbidden|no new|without (?:adding|changing|touching|breaking)|only (?:use|touch|change|edit|in)|always|at most|at least|no more than|avoid|(?:^|[.:] )(?:please )?(?:keep|leave))\b/i
const SHORTEST = 12
const LONGEST = 300

/** Lines that say what must or must not be done, as they stand. */
export const constraintsIn = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST && line.length <= LONGEST && CONSTRAINT.test(line))

const CHANGES =
  /\b(?:make (?:it|that|this)|change (?:it|that|this|the)|set (?:it|that|the)|instead|actually|update|should (?:now )?be|lower|raise|increase|decrease|reduce|bump|switch|rename|rather|no longer|use)\b/i
const VALUE = /([$€£]) ?(\d[\d,.]{0,15}\d|\d)|(\d[\d,.]{0,15}\d|\d) ?(%|[A-Za-z]{1,12})/g
/** What a change may say in so many words: "rename a to b", "b instead of a", "use b, not a". */
const PAIRS: readonly (readonly [pattern: RegExp, old: number])[] = [
  [/\b(?:rename|change|switch)(?: it| that)? (?:from )?[`'"“]?([\w./@-]{2,60}?)[`'"”]? to [`'"“]?([\w./@-]{2,60})/i, 1],
  [/[`'"“]?([\w./@-]{2,60}?)[`'"”]? instead of [`'"“]?([\w./@-]*[\w@])/i, 2],
  [/\buse [`'"“]?([\w./@-]{2,60}?)[`'"”]?,? (?:and )?not [`'"“]?([\w./@-]*[\w@])/i, 2],
]
const CLAUSE_CHARACTERS = 120
/** A longer message is no correction of a value. */
const MESSAGE_CHARACTERS = 1_000

/** By the number of a message, what it says that a later one changed. Only where it is plain which: one value of that kind, or named by the change. */
export function changedSince(messages: readonly string[]): ReadonlyMap<number, string> {
  const notes = new Map<number, string>()
  const values = new Map<string, { readonly message: number; readonly text: string }[]>()
  for (const [message, text] of messages.entries()) {
    const clauses =
      text.length > MESSAGE_CHARACTERS ? [] : text.split(/(?<=[.!?;])\s+|\n/).filter((clause) => CHANGES.test(clause))
    for (const clause of clauses) {
      const note = (old: string): string =>
        `“${old}” no longer holds; message ${message + 1}: “${cutHead(clause.trim(), CLAUSE_CHARACTERS)}”`
      for (const { kind, text: value } of valuesIn(clause)) {
        const before = values.get(kind) ?? []
        const distinct = new Set(before.map((one) => one.text))
        const [old] = distinct
        if (distinct.size === 1 && old !== value) for (const one of before) notes.set(one.message, note(old!))
        if (distinct.size === 1) values.delete(kind)
      }
      for (const [pattern, at] of PAIRS) {
        const old = pattern.exec(clause)?.[at]
        const said =
          old === undefined || /^(?:it|that|this|the|a|an)$/i.test(old)
            ? -1
            : messages.slice(0, message).findLastIndex((one) => one.includes(old))
        if (said >= 0) notes.set(said, note(old!))
      }
    }
    if (text.length <= 20 * MESSAGE_CHARACTERS)
      for (const { kind, text: value } of valuesIn(text))
        values.set(kind, [...(values.get(kind) ?? []).slice(-9), { message, text: value }])
  }
  return notes
}

const valuesIn = (text: string): readonly { readonly kind: string; readonly text: string }[] =>
  [...text.matchAll(VALUE)].map(([whole, sign, , , unit]) => ({
    kind: sign ?? unit!.toLowerCase().replace(/s$/, ''),
    text: whole.trim(),
  }))
