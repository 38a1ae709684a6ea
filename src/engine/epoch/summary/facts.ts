import type { Item } from '../../../core/item.ts'
import { ranCommands, type RanCommand } from './commands.ts'

/** Facts that code carries through every fold, word for word. Newest first in line for the budget, printed in their order. */
export interface Fact {
  readonly heading: string
  readonly text: string
}

const PLAN_TOOLS = /^(?:todo_?write|update_?plan|write_?todos|set_?plan|plan)$/i
const REFUSED =
  /\b(?:user (?:doesn't|does not|didn't|did not) want|user (?:rejected|denied|declined|refused)|permission denied by (?:the )?user|request interrupted by user)\b/i
const PATH_KEYS = ['file_path', 'path', 'notebook_path', 'filename', 'file']
const WRITES = /edit|write|patch|replace|create|apply/i
/** Of each kind, the newest. */
const COMMANDS = 8

/** What the folded part says about the state of the work: the plan as last written, refusals, files touched, commands and how they ended. */
export function factsOf(items: readonly Item[]): Fact[] {
  const facts: Fact[] = []
  const plan = items.findLast((item) => item.kind === 'call' && PLAN_TOOLS.test(item.toolName ?? ''))
  if (plan !== undefined) facts.push({ heading: 'Plan as last written', text: plan.text })
  const refused = items.filter((item) => item.kind === 'result' && item.text.length < 2_000 && REFUSED.test(item.text))
  if (refused.length > 0)
    facts.push({ heading: 'Refused by the user', text: refused.map((item) => item.text.trim()).join('\n') })
  const files = touchedFiles(items)
  if (files !== '') facts.push({ heading: 'Files touched', text: files })
  const commands = ranCommands(items)
  const failed = commands.filter(({ exit }) => exit !== 0).slice(-COMMANDS)
  if (failed.length > 0) facts.push({ heading: 'Commands that failed last', text: failed.map(failure).join('\n') })
  const passed = commands.filter(({ exit }) => exit === 0).slice(-COMMANDS)
  if (passed.length > 0)
    facts.push({ heading: 'Commands that passed last', text: passed.map(({ command }) => `$ ${command}`).join('\n') })
  return facts
}

const failure = ({ command, exit, error }: RanCommand): string =>
  `$ ${command} (exit ${exit})${error === undefined ? '' : `: ${error}`}`

function touchedFiles(items: readonly Item[]): string {
  const files = new Map<string, { reads: number; writes: number }>()
  for (const item of items) {
    const path = item.kind === 'call' ? pathIn(item.text) : undefined
    if (path === undefined) continue
    const counts = files.get(path) ?? { reads: 0, writes: 0 }
    if (WRITES.test(item.toolName ?? '')) counts.writes++
    else counts.reads++
    // Moves to the end: the list is in order of the last touch.
    files.delete(path)
    files.set(path, counts)
  }
  return [...files]
    .slice(-40)
    .map(
      ([path, { reads, writes }]) =>
        `${path}${writes > 0 ? ` changed ${writes}×` : ''}${reads > 0 ? ` read ${reads}×` : ''}`,
    )
    .join('\n')
}

function pathIn(json: string): string | undefined {
  try {
    const input = JSON.parse(json) as Record<string, unknown>
    for (const key of PATH_KEYS) if (typeof input[key] === 'string') return input[key]
  } catch {
    // Not an object: no path to name.
  }
  return undefined
}
