import type { Item } from '../../../core/item.ts'
import { callReader, type CallReader } from './arguments.ts'

/** A command that ran, and how it ended as far as its results say. */
export interface RanCommand {
  readonly command: string
  readonly exit: number
  /** What its result says went wrong. */
  readonly error?: string
  /** What it said when it failed before; it passes since. */
  readonly fixed?: string
}

const EXIT =
  /\b(?:exit(?:ed)?(?:[ _]?(?:with|code|status))*|return[ _]?code|exit[ _]?value)["']?\s*[:=]?\s*(\d{1,3})\b/i
/** A file that is read may say `exit 0` itself: of tools that run no command, only what is plainly a report counts. */
const REPORTED =
  /\b(?:exit(?:ed)?[ _](?:with[ _])?(?:code|status)|return[ _]?code|exit[ _]?value)["']?\s*[:=]?\s*(\d{1,3})\b/i
const ERROR_LINE =
  /\b(?:error|exception|fatal|panic|failed|failure|traceback|denied|not found|cannot|undefined reference)\b/i
const LONGEST = 160

/** Commands of a history in order of their last run, each once. */
export function ranCommands(items: readonly Item[], calls: CallReader = callReader()): RanCommand[] {
  const asked = new Map<string, string>()
  const isCommand = new Set<string>()
  const ran = new Map<string, RanCommand>()
  for (const item of items) {
    const { callId } = item
    if (callId === undefined) continue
    if (item.kind === 'call') {
      const command = calls.commandOf(item)
      if (command !== undefined) isCommand.add(callId)
      asked.set(callId, command?.split('\n')[0]!.slice(0, LONGEST) ?? calls.callLine(item, LONGEST))
      continue
    }
    const command = item.kind === 'result' ? asked.get(callId) : undefined
    const exit = command === undefined ? undefined : exitOf(item, isCommand.has(callId) ? EXIT : REPORTED)
    if (command === undefined || exit === undefined) continue
    const error = exit === 0 ? undefined : errorLineOf(item.text)
    const before = ran.get(command)
    const fixed = exit === 0 ? (before?.error ?? before?.fixed) : undefined
    ran.delete(command)
    ran.set(command, { command, exit, ...(error !== undefined && { error }), ...(fixed !== undefined && { fixed }) })
  }
  return [...ran.values()]
}

/** How a result says that its command ended. The end of a long output says it, so it is looked at first. */
export function exitOf({ text, isError }: Item, pattern = EXIT): number | undefined {
  const found = pattern.exec(text.slice(-400)) ?? pattern.exec(text.slice(0, 400))
  if (found !== null) return Number(found[1])
  return isError === true ? 1 : undefined
}

/** The last line that speaks of an error: what came before it was on the way there. */
export function errorLineOf(text: string): string | undefined {
  const lines = text.slice(-4_000).split('\n')
  return lines
    .findLast((line) => ERROR_LINE.test(line) && !EXIT.test(line))
    ?.trim()
    .slice(0, LONGEST)
}
