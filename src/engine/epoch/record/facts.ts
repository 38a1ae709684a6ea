import { handlesIn } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { isRecord, textOf, type Fields } from '../../../core/values.ts'
import { argumentsOf, callLine, commandOf, pathOf } from './calls.ts'
import { runningIn } from './background.ts'
import { changesOf, changeText, notMade } from './changes.ts'

/** Facts that code carries through every compaction, word for word. Newest first in line for the budget, printed in their order. */
export interface Fact {
  /** Where it stands in a record: what is the case now comes first. */
  readonly part: 'state' | 'plan' | 'work'
  readonly heading: string
  /** Older lines that are left out of the text. */
  readonly left?: number
  readonly text: string
}

const REFUSED =
  /\b(?:user (?:doesn't|does not|didn't|did not) want|user (?:rejected|denied|declined|refused)|permission denied by (?:the )?user|request interrupted by user)\b/i
/** Of each kind, the newest. */
const COMMANDS = 8
/** What is broken is told at greater length than what works. */
const FAILURES = 16
const FILES = 40
/** A failure so many calls ago is told with its age: it says less about where things stand. */
const OLD_CALLS = 40

/**
 * What the folded part says about the state of the work: the plan as last written, refusals, files touched, commands and how they ended. What a
 * command said last may stand behind that part: then it is in view, and nothing older is said of it.
 */
export function factsOf(items: readonly Item[], history: readonly Item[] = items): Fact[] {
  const planState = planStateOf(items)
  const next = planState.items.find(({ status }) => status === 'in progress') ?? planState.items.find(isOpen)
  const calls = new Set(items.map(({ callId }) => callId))
  const commands = ranCommands(history).filter(({ callId }) => calls.has(callId))
  const made = history.filter(({ kind }) => kind === 'call').length
  const failed = commands.filter(({ exit }) => exit !== 0).slice(-FAILURES)
  const passed = commands
    .filter(({ command, exit }) => exit === 0 && !SHOWS.test(partsOf(command).at(-1)!))
    .slice(-COMMANDS)
  const all: readonly Fact[] = [
    {
      part: 'state',
      heading: 'Commands that failed last',
      text: failed.map((one) => commandLine(one, made)).join('\n'),
    },
    {
      part: 'state',
      heading: 'Commands that passed last',
      text: passed.map((one) => commandLine(one, made)).join('\n'),
    },
    {
      part: 'state',
      heading: 'Refused by the user',
      text: refusals(items).join('\n'),
    },
    { part: 'state', heading: 'Started and not ended', text: runningIn(history).join('\n') },
    { part: 'state', heading: 'Questions to the user without an answer', text: openQuestions(history).join('\n') },
    { part: 'state', heading: 'Next in the plan', text: next?.text ?? '' },
    { part: 'plan', heading: 'Plan as last written', text: planText(planState) },
    { part: 'work', heading: 'Files touched', ...touchedFiles(items, history) },
  ]
  return all.filter(({ text }) => text !== '')
}

/** What a client writes by itself when its user refuses. */
const STOCK = /^the user (?:doesn['’]t|does not) want to/i

/** What the user said with a refusal; empty where nothing was said, undefined where nothing was refused. */
function refusalIn({ text }: Item): string | undefined {
  if (text.length >= 2_000 || !REFUSED.test(text)) return undefined
  const reason = /\b(?:the user said|user feedback|reason)\b[^:\n]*:\s*([\s\S]+)/i.exec(text)?.[1]
  return reason !== undefined ? `the user: ${reason.trim()}` : STOCK.test(text) ? '' : text.trim()
}

/** What the user did not want done, each once, with what was said about it. */
function refusals(items: readonly Item[]): readonly string[] {
  const resultOf = resultsIn(items)
  const lines = items.flatMap((call) => {
    const result = call.kind === 'call' ? resultOf(call) : undefined
    const said = result === undefined ? undefined : refusalIn(result)
    if (said === undefined) return []
    const change = changeText(changesOf(call))
    return `${callLine(call)}${change === '' ? '' : ` ${change}`}${said === '' ? '' : ` — ${said}`}`
  })
  return [...new Set(lines)]
}

const ASKS = /^ask|question|followup/i

/** Unanswered questions of the model: by a tool whose result is missing, or at the end of its last message. */
function openQuestions(items: readonly Item[]): readonly string[] {
  const resultOf = resultsIn(items)
  const asked = items.filter(
    (item) => item.kind === 'call' && ASKS.test(item.toolName ?? '') && resultOf(item) === undefined,
  )
  const last = items.findLast(({ kind }) => kind === 'assistant' || kind === 'user')
  const said = last?.kind === 'assistant' ? last.text.trim().split('\n').at(-1)!.trim() : ''
  return [...asked.map((call) => callLine(call, 400)), ...(said.endsWith('?') ? [said] : [])]
}

/** `made`: the calls of the history. */
function commandLine({ command, exit, error, fixed, call }: RanCommand, made: number): string {
  if (exit === 0) return `$ ${command}${fixed === undefined ? '' : ` (failed before: ${fixed})`}`
  const age = made - call - 1
  const ago = age < OLD_CALLS ? '' : `, ${age} calls ago`
  return `$ ${command} (${exit === UNSTATED ? 'failed' : `exit ${exit}`}${ago})${error === undefined ? '' : `: ${error}`}`
}

/** How a call ended, in a few words, where its result says so, and where the rest of a result is that was shown in part. */
export function outcomeOf(items: readonly Item[]): (call: Item) => string | undefined {
  const resultOf = resultsIn(items)
  return (call) => {
    const result = resultOf(call)
    if (result === undefined) return undefined
    const isRefused = refusalIn(result) !== undefined
    const exit = isRefused || commandOf(call) === undefined ? undefined : exitOf(result)
    const error = errorLineOf(result.text)
    const why = changesOf(call).length === 0 || isRefused ? undefined : notMade(result)
    const end = isRefused
      ? 'refused by the user'
      : why !== undefined
        ? `not made: ${why}`
        : exit === undefined || exit === 0
          ? undefined
          : `exit ${exit}${error === undefined ? '' : `: ${error}`}`
    return [end, placeOf(result)].filter((part) => part !== undefined).join(', ') || undefined
  }
}

function resultsIn(items: readonly Item[]): (call: Item) => Item | undefined {
  const results = new Map(items.filter(({ kind }) => kind === 'result').map((item) => [item.callId, item]))
  return ({ callId }) => (callId === undefined ? undefined : results.get(callId))
}

/** The archive holds what was sent; the whole of a result that was cut before that has only this address. */
function placeOf({ edited, text }: Item): string | undefined {
  const handle = edited === true ? handlesIn(text)[0] : undefined
  return handle === undefined ? undefined : `all of it: ${handle}`
}

/** Files in the order of their last touch, and of those that were changed what changed last. A change that was refused or not made is none. */
function touchedFiles(items: readonly Item[], history: readonly Item[]): Pick<Fact, 'text' | 'left'> {
  const files = new Map<string, { reads: number; writes: number; last: string; place: number }>()
  const resultOf = resultsIn(items)
  let ran = -1
  for (const [place, item] of history.entries()) if (item.kind === 'call' && commandOf(item) !== undefined) ran = place
  const places = new Map(history.map((item, place) => [item, place]))
  for (const item of items) {
    if (item.kind !== 'call') continue
    const changes = changesOf(item)
    const result = resultOf(item)
    const isMade = changes.length > 0 && notMade(result) === undefined && (result === undefined || !refusalIn(result))
    const paths = changes.length > 0 ? changes.map(({ path }) => path) : [pathOf(item)]
    for (const path of new Set(paths)) {
      if (path === undefined) continue
      const { reads, writes, ...before } = files.get(path) ?? { reads: 0, writes: 0, last: '', place: -1 }
      // Moves to the end: the list is in order of the last touch.
      files.delete(path)
      const change = { last: changeText(changes.filter((one) => one.path === path)), place: places.get(item) ?? -1 }
      if (isMade) files.set(path, { reads, writes: writes + 1, ...change })
      else files.set(path, { reads: reads + (changes.length > 0 ? 0 : 1), writes, ...before })
    }
  }
  const lines = [...files].slice(-FILES).map(([path, { reads, writes, last, place }]) => {
    if (writes === 0) return `${path}${reads > 0 ? ` read ${reads}×` : ''}`
    const since = ran > place ? '' : '; no command ran since'
    return `${path} changed ${writes}×${reads > 0 ? ` read ${reads}×` : ''}${last === '' ? '' : `, last: ${last}`}${since}`
  })
  return { text: lines.join('\n'), left: Math.max(0, files.size - FILES) }
}

/** A command that ran, and how it ended as far as its results say. */
export interface RanCommand {
  readonly command: string
  readonly exit: number
  /** What its result says went wrong. */
  readonly error?: string
  /** What it said when it failed before; it passes since. */
  readonly fixed?: string
  readonly callId: string
  /** Which call of the history it was. */
  readonly call: number
}

const EXIT =
  /\b(?:exit(?:ed)?(?:[ _]?(?:with|code|status))*|return[ _]?code|exit[ _]?value)["']?\s*[:=]?\s*(\d{1,3})\b/i
/** A file that is read may say `exit 0` itself: of tools that run no command, only what is plainly a report counts. */
const REPORTED =
  /\b(?:exit(?:ed)?[ _](?:with[ _])?(?:code|status)|return[ _]?code|exit[ _]?value)["']?\s*[:=]?\s*(\d{1,3})\b/i
const ERROR_LINE =
  /\b(?:\w*(?:error|exception)|fatal|panic|failed|failure|traceback|denied|not found|cannot|undefined reference)\b/i
const LONGEST = 160
/** A tool shows the line of the program that it complains about. */
const CODE = /[{};,]\s*$/
/** Each result is held against so many commands. */
const MOST_COMMANDS = 500

/**
 * Commands of a history in order of their last run, each once. A success ends an earlier failure of the same command, also where it was run with
 * less behind it ("npm test" after "npm test -- login"), and where the client states an exit code for failures only.
 */
export function ranCommands(items: readonly Item[]): RanCommand[] {
  const asked = new Map<string, { readonly command: string; readonly isShell: boolean; readonly call: number }>()
  const ran = new Map<string, RanCommand>()
  let calls = 0
  for (const item of items) {
    const { callId } = item
    if (callId === undefined) continue
    if (item.kind === 'call') {
      // An editor's "command" is what it does to a path.
      const shell = pathOf(item) === undefined ? commandOf(item) : undefined
      const command = shell?.replaceAll(/\s*\n\s*/g, '; ').slice(0, LONGEST) ?? callLine(item, LONGEST)
      asked.set(callId, { command, isShell: shell !== undefined, call: calls++ })
      continue
    }
    const run = item.kind === 'result' ? asked.get(callId) : undefined
    const end = run === undefined ? undefined : endOf(item, run)
    if (run === undefined || end === undefined) continue
    const { command, call } = run
    const work = withoutFilter(command)
    const wider = [...ran.values()].filter(
      (one) => withoutFilter(one.command) === work || isNarrower(one.command, work),
    )
    // How it ended before says nothing while it runs again.
    if (end === 'running') ran.delete(command)
    if (end === 'running' || (end === 'unsaid' && wider.every((one) => one.exit === 0))) continue
    const exit = end === 'unsaid' ? 0 : end
    const replaced = wider.filter((one) => exit === 0 || withoutFilter(one.command) === work)
    const fixed = exit === 0 ? replaced.findLast((one) => (one.error ?? one.fixed) !== undefined) : undefined
    for (const one of replaced) ran.delete(one.command)
    const error = exit === 0 ? undefined : errorLineOf(item.text)
    ran.set(command, { command, exit, error, fixed: fixed?.error ?? fixed?.fixed, callId, call })
    if (ran.size > MOST_COMMANDS) ran.delete(ran.keys().next().value!)
  }
  return [...ran.values()]
}

/** How a command ended, where its result says so; undefined for what is no failure of a command. */
function endOf(
  item: Item,
  { command, isShell }: { readonly command: string; readonly isShell: boolean },
): number | 'unsaid' | 'running' | undefined {
  if (!isShell) return statedExit(item, REPORTED)
  const report = item.text.slice(0, REPORT)
  // The user's refusals are listed by themselves.
  if (refusalIn(item) !== undefined || STOPPED.test(report)) return undefined
  const exit = exitOf(item)
  if (exit === undefined) {
    if (GOES_ON.test(report)) return 'running'
    if (GIVES_UP.test(report)) return UNSTATED
    return !SHOWS.test(partsOf(command).at(-1)!) && FAILS.test(item.text.slice(-REPORT).trimEnd()) ? UNSTATED : 'unsaid'
  }
  // A search that finds nothing has not failed.
  if (exit === 1 && FINDS.test(partsOf(command).at(-1)!.split('|').at(-1)!) && errorLineOf(item.text) === undefined)
    return undefined
  return exit
}

const REPORT = 400
/** What was started and has not ended. */
const GOES_ON = /\b(?:running in (?:the )?background|session id|still running|timed out)\b/i
/** Nobody knows how it would have ended. */
const STOPPED = /^\W*(?:command aborted|no result was recorded)\W*$/i
/** Commands whose exit code 1 is an answer. */
const FINDS = /^\s*(?:git\s+(?:grep|diff)|(?:e|f|z)?grep|rg|ag|diff|cmp|test|\[|which|pgrep|command\s+-v)\b/

/** Where a pipe or the client keeps the code: what tools that build, test and run end their output with when they fail. */
const FAILS =
  /(?:^|\n)(?:[^\n]*(?:: command not found|: No such file or directory|\berror TS\d+: [^\n]*|\b(?:BUILD|[Tt]ask|[Tt]ests?) (?:FAILED|failed)[^\n]*)|(?:make(?:\[\d+\])?: \*\*\*|FAIL(?:ED)?\b|npm (?:ERR!|error)|E:|error: (?:could not compile|aborting)|Segmentation fault|[A-Z]\w*(?:Error|Exception):)[^\n]*)$/
/** How a whole output begins that tells of nothing else. */
const GIVES_UP = /^(?:fatal: |CMake Error )/
/** What these print may be another program's failure. */
const SHOWS = /^\s*(?:cat|tail|head|sed|awk|less|e?grep|rg|jq|find|ls|git|journalctl|docker|kubectl|write_stdin)\b/
/** How much of its output is shown makes no other command. */
const withoutFilter = (command: string): string =>
  command.replace(/(?:\s*2>&1)?(?:\s*\|\s*(?:head|tail|less|cat)\b[^|;&]*)?$/, '').trim()

/** The same with more arguments; what only follows it is another command. */
const isNarrower = (command: string, work: string): boolean =>
  command.startsWith(`${work} `) && !/^\s*(?:&&|;|\|)/.test(command.slice(work.length))

/** A failure without an exit code. */
const UNSTATED = -1

/** The commands of a line, one after the other; the exit code of the last is the line's. What stands in quotes is no command. */
const partsOf = (command: string): readonly string[] => command.replaceAll(/"[^"]*"?|'[^']*'?/g, '').split(/&&|;/)

/** How the result of a command says that it ended. */
const exitOf = (item: Item): number | undefined => statedExit(item, EXIT) ?? (item.isError === true ? 1 : undefined)

/** The end of a long output says it, so it is looked at first. */
function statedExit({ text }: Item, pattern: RegExp): number | undefined {
  const found = pattern.exec(text.slice(-REPORT)) ?? pattern.exec(text.slice(0, REPORT))
  return found === null ? undefined : Number(found[1])
}

/** The last line that speaks of an error: what came before it was on the way there. */
function errorLineOf(text: string): string | undefined {
  const lines = text.slice(-4_000).split('\n')
  return lines
    .findLast((line) => ERROR_LINE.test(line) && !EXIT.test(line) && !CODE.test(line))
    ?.trim()
    .slice(0, LONGEST)
}

/** One entry of a plan as it was last written. */
export interface PlanItem {
  readonly text: string
  readonly status: PlanStatus
  /** The status in the plan's own words, where it says more: "blocked: needs a key". */
  readonly note?: string
}

export type PlanStatus = 'done' | 'in progress' | 'open' | 'dropped'

export interface PlanState {
  readonly items: readonly PlanItem[]
  /** A plan that was put forward as prose. */
  readonly prose?: string
}

const LABELS = ['content', 'step', 'subject', 'title', 'task', 'description', 'text', 'name']
const IDS = ['taskId', 'task_id', 'todoId', 'todo_id', 'id']
const DONE = /^(?:done|complete|completed|finished|closed|resolved|x)$/i
const RUNNING = /^(?:in[-_ ]?progress|active|doing|started|running|current)$/i
const DROPPED = /^(?:cancell?ed|deleted|dropped|removed|skipped|abandoned)$/i
const OPEN = /^(?:pending|todo|to[-_ ]do|open|not[-_ ]?started|new|queued|planned)$/i
const CREATES = /(?:task|todo|plan).*(?:create|add|new)|(?:create|add|new).*(?:task|todo)/i
const UPDATES = /(?:task|todo|plan).*(?:update|set|complete|edit|delete)|(?:update|set|complete|edit).*(?:task|todo)/i
const PUTS_FORWARD = /plan/i

/**
 * The state of plans at the end of a history. Lists are known by their shape (entries with a text and a status), so the tool's name and its
 * client do not matter; tools that add and change single tasks are followed by the ids that their results give.
 */
export function planStateOf(items: readonly Item[]): PlanState {
  const results = new Map<string, string>()
  for (const { kind, callId, text } of items) if (kind === 'result' && callId !== undefined) results.set(callId, text)
  const tasks = new Map<string, PlanItem>()
  let list: readonly PlanItem[] = []
  let prose: string | undefined
  for (const item of items) {
    if (item.kind !== 'call') continue
    const input = argumentsOf(item)
    if (input === undefined) continue
    const written = listIn(input)
    const tool = item.toolName ?? ''
    if (written !== undefined) list = written
    else if (CREATES.test(tool)) {
      const text = labelOf(input)
      const id = /#?(\d+)/.exec(results.get(item.callId ?? '') ?? '')?.[1] ?? String(tasks.size + 1)
      if (text !== undefined) tasks.set(id, { text, ...statusOf(input['status'] ?? 'open') })
    } else if (UPDATES.test(tool)) {
      const id = IDS.map((key) => input[key]).find((value) => typeof value === 'string' || typeof value === 'number')
      const before = tasks.get(`${id}`)
      if (before === undefined) continue
      const changed = input['status'] === undefined ? before : statusOf(input['status'])
      tasks.set(`${id}`, { ...before, ...changed, text: labelOf(input) ?? before.text })
    } else if (isPlanProse(tool, input)) prose = String(input['plan'])
  }
  const all = [...list, ...tasks.values()].filter(({ status }) => status !== 'dropped')
  return { items: all, prose }
}

/** Whether a call does nothing but keep a plan: the state stands for all of them. */
export function keepsPlan(call: Item): boolean {
  const input = call.kind === 'call' ? argumentsOf(call) : undefined
  if (input === undefined) return false
  const tool = call.toolName ?? ''
  return listIn(input) !== undefined || CREATES.test(tool) || UPDATES.test(tool) || isPlanProse(tool, input)
}

/** A call that puts a plan forward in prose. */
const isPlanProse = (tool: string, input: Fields): boolean =>
  PUTS_FORWARD.test(tool) && typeof input['plan'] === 'string'

export const isOpen = ({ status }: PlanItem): boolean => status === 'open' || status === 'in progress'

function listIn(input: Fields): readonly PlanItem[] | undefined {
  for (const value of Object.values(input)) {
    if (!Array.isArray(value) || value.length === 0) continue
    const entries = value.map(entryOf)
    const isPlan = entries.every((entry) => entry !== undefined) && entries.some(({ note }) => note === undefined)
    if (isPlan) return entries
  }
  return undefined
}

function entryOf(entry: unknown): PlanItem | undefined {
  if (!isRecord(entry)) return undefined
  const status = entry['status'] ?? entry['state']
  const text = labelOf(entry)
  return typeof status !== 'string' || text === undefined ? undefined : { text, ...statusOf(status) }
}

const labelOf = (entry: Fields): string | undefined =>
  LABELS.map((key) => textOf(entry[key]).trim()).find((text) => text !== '')

/** Words that we do not know are open work, with the words beside it. */
function statusOf(value: unknown): Pick<PlanItem, 'status' | 'note'> {
  const word = textOf(value).trim()
  if (DONE.test(word)) return { status: 'done' }
  if (RUNNING.test(word)) return { status: 'in progress' }
  if (DROPPED.test(word)) return { status: 'dropped' }
  return OPEN.test(word) ? { status: 'open' } : { status: 'open', note: word }
}

const MARKS = { done: '[x]', 'in progress': '[~]', open: '[ ]', dropped: '[-]' } as const

/** A plan as a list that people and models read; empty where there is none. */
export function planText({ items, prose }: PlanState): string {
  const list = items.map(
    ({ status, text, note }) => `${MARKS[status]} ${text}${note === undefined ? '' : ` (${note})`}`,
  )
  return [list.join('\n'), prose?.trim() ?? ''].filter((part) => part !== '').join('\n\n')
}

/** The same list without what is done or dropped, for where it has no room: what is still to do may not leave. */
export function openPart(plan: string): string {
  const lines = plan.split('\n')
  const open = lines.filter((line) => !line.startsWith(MARKS.done) && !line.startsWith(MARKS.dropped))
  const left = lines.length - open.length
  return left === 0 ? plan : [...open, `(${left} closed ${left === 1 ? 'entry' : 'entries'} left out)`].join('\n')
}
