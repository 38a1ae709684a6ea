import { handlesIn } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { callReader, pathsInPatch, type CallReader } from './arguments.ts'
import { errorLineOf, exitOf, ranCommands, type RanCommand } from './commands.ts'
import { fileNames } from './file-names.ts'
import { planStateOf, planText } from './plan-state.ts'

/** Facts that code carries through every compaction, word for word. Newest first in line for the budget, printed in their order. */
export interface Fact {
  readonly heading: string
  readonly text: string
}

const REFUSED =
  /\b(?:user (?:doesn't|does not|didn't|did not) want|user (?:rejected|denied|declined|refused)|permission denied by (?:the )?user|request interrupted by user)\b/i
const WRITES = /edit|write|patch|replace|create|apply/i
/** Of each kind, the newest. */
const COMMANDS = 8
const FILES = 40

/** What the folded part says about the state of the work: the plan as last written, refusals, files touched, commands and how they ended. */
export function factsOf(items: readonly Item[], calls: CallReader = callReader()): Fact[] {
  const plan = planText(planStateOf(items, calls))
  const refused = items.filter((item) => item.kind === 'result' && item.text.length < 2_000 && REFUSED.test(item.text))
  const commands = ranCommands(items, calls)
  const failed = commands.filter(({ exit }) => exit !== 0).slice(-COMMANDS)
  const passed = commands.filter(({ exit }) => exit === 0).slice(-COMMANDS)
  return [
    { heading: 'Plan as last written', text: plan },
    { heading: 'Refused by the user', text: [...new Set(refused.map((item) => item.text.trim()))].join('\n') },
    { heading: 'Files touched', text: touchedFiles(items, calls) },
    { heading: 'Commands that failed last', text: failed.map(commandLine).join('\n') },
    { heading: 'Commands that passed last', text: passed.map(commandLine).join('\n') },
  ].filter(({ text }) => text !== '')
}

function commandLine({ command, exit, error, fixed }: RanCommand): string {
  const why = error === undefined ? '' : `: ${error}`
  const before = fixed === undefined ? '' : ` (failed before: ${fixed})`
  return exit === 0 ? `$ ${command}${before}` : `$ ${command} (exit ${exit})${why}`
}

/** How a call ended, in a few words, where its result says so, and where the rest of a result is that was shown in part. */
export function outcomeOf(items: readonly Item[], calls: CallReader): (call: Item) => string | undefined {
  const results = new Map<string, Item>()
  for (const item of items) if (item.kind === 'result' && item.callId !== undefined) results.set(item.callId, item)
  return (call) => {
    const result = call.callId === undefined ? undefined : results.get(call.callId)
    if (result === undefined) return undefined
    const parts = [calls.commandOf(call) === undefined ? undefined : endOf(result), placeOf(result)]
    const said = parts.filter((part) => part !== undefined)
    return said.length === 0 ? undefined : said.join(', ')
  }
}

function endOf(result: Item): string | undefined {
  const exit = exitOf(result)
  if (exit === undefined) return undefined
  const error = exit === 0 ? undefined : errorLineOf(result.text)
  return `exit ${exit}${error === undefined ? '' : `: ${error}`}`
}

/** The archive holds what was sent; the whole of a result that was cut before that has only this address. */
function placeOf({ edited, text }: Item): string | undefined {
  const handle = edited === true ? handlesIn(text)[0] : undefined
  return handle === undefined ? undefined : `all of it: ${handle}`
}

function touchedFiles(items: readonly Item[], calls: CallReader): string {
  const files = new Map<string, { reads: number; writes: number }>()
  const touch = (path: string, isWrite: boolean): void => {
    const counts = files.get(path) ?? { reads: 0, writes: 0 }
    if (isWrite) counts.writes++
    else counts.reads++
    // Moves to the end: the list is in order of the last touch.
    files.delete(path)
    files.set(path, counts)
  }
  const touched = items.flatMap((item) => {
    if (item.kind !== 'call') return []
    const patched = pathsInPatch(item.text)
    const path = calls.pathOf(item)
    if (patched.length > 0) return patched.map((one) => ({ path: one, isWrite: true }))
    return path === undefined ? [] : [{ path, isWrite: isWrite(item, calls) }]
  })
  const nameOf = fileNames(touched.map(({ path }) => path))
  for (const { path, isWrite } of touched) touch(nameOf(path), isWrite)
  return [...files]
    .slice(-FILES)
    .map(
      ([path, { reads, writes }]) =>
        `${path}${writes > 0 ? ` changed ${writes}×` : ''}${reads > 0 ? ` read ${reads}×` : ''}`,
    )
    .join('\n')
}

/** An editor with one name for everything says in an argument what it does. */
function isWrite(call: Item, calls: CallReader): boolean {
  const command = calls.argumentsOf(call)?.['command']
  return WRITES.test(call.toolName ?? '') && (typeof command !== 'string' || !/^(?:view|read|open|cat)$/i.test(command))
}
