import type { Item } from '../../../core/item.ts'
import { callReader, type CallReader } from './arguments.ts'

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
export function planStateOf(items: readonly Item[], calls: CallReader = callReader()): PlanState {
  const results = new Map<string, string>()
  for (const { kind, callId, text } of items) if (kind === 'result' && callId !== undefined) results.set(callId, text)
  const tasks = new Map<string, PlanItem>()
  let list: readonly PlanItem[] = []
  let prose: string | undefined
  for (const item of items) {
    if (item.kind !== 'call') continue
    const input = calls.argumentsOf(item)
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
  return { items: all, ...(prose !== undefined && { prose }) }
}

/** Whether a call does nothing but keep a plan: the state stands for all of them. */
export function keepsPlan(call: Item, calls: CallReader): boolean {
  const input = call.kind === 'call' ? calls.argumentsOf(call) : undefined
  if (input === undefined) return false
  const tool = call.toolName ?? ''
  return listIn(input) !== undefined || CREATES.test(tool) || UPDATES.test(tool) || isPlanProse(tool, input)
}

/** A call that puts a plan forward in prose. */
const isPlanProse = (tool: string, input: Readonly<Record<string, unknown>>): boolean =>
  PUTS_FORWARD.test(tool) && typeof input['plan'] === 'string'

export const isOpen = ({ status }: PlanItem): boolean => status === 'open' || status === 'in progress'

function listIn(input: Readonly<Record<string, unknown>>): readonly PlanItem[] | undefined {
  for (const value of Object.values(input)) {
    if (!Array.isArray(value) || value.length === 0) continue
    const entries = value.map(entryOf)
    const isPlan = entries.every((entry) => entry !== undefined) && entries.some(({ note }) => note === undefined)
    if (isPlan) return entries
  }
  return undefined
}

function entryOf(value: unknown): PlanItem | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const entry = value as Readonly<Record<string, unknown>>
  const status = entry['status'] ?? entry['state']
  const text = labelOf(entry)
  return typeof status !== 'string' || text === undefined ? undefined : { text, ...statusOf(status) }
}

function labelOf(entry: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of LABELS) {
    const value = entry[key]
    if (typeof value === 'string' && value.trim() !== '') return value.trim()
  }
  return undefined
}

/** Words that we do not know are open work, with the words beside it. */
function statusOf(value: unknown): Pick<PlanItem, 'status' | 'note'> {
  const word = typeof value === 'string' ? value.trim() : ''
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
