import type { Item } from '../../../core/item.ts'

/** A command that ran, and how it ended as far as its result says. */
export interface RanCommand {
  readonly command: string
  readonly exit: number
  /** What its result says went wrong. */
  readonly error?: string
}

const COMMAND_KEYS = ['command', 'cmd', 'script', 'shell_command']
const EXIT =
  /\b(?:exit(?:ed)?(?:[ _]?(?:with|code|status))*|return[ _]?code|exit[ _]?value)["']?\s*[:=]?\s*(\d{1,3})\b/i
const ERROR_LINE =
  /\b(?:error|exception|fatal|panic|failed|failure|traceback|denied|not found|cannot|undefined reference)\b/i
const LONGEST = 160

/** Commands of a history in order of their last run, each once. */
export function ranCommands(items: readonly Item[]): RanCommand[] {
  const asked = new Map<string, string>()
  const ran = new Map<string, RanCommand>()
  for (const item of items) {
    const { callId } = item
    if (callId === undefined) continue
    if (item.kind === 'call') {
      asked.set(callId, commandIn(item.text) ?? callText(item))
      continue
    }
    const command = item.kind === 'result' ? asked.get(callId) : undefined
    const exit = command === undefined ? undefined : exitOf(item)
    if (command === undefined || exit === undefined) continue
    const error = exit === 0 ? undefined : errorLineOf(item.text)
    ran.delete(command)
    ran.set(command, { command, exit, ...(error !== undefined && { error }) })
  }
  return [...ran.values()]
}

/** The end of a long output says how it ended, so it is looked at first. */
function exitOf({ text, isError }: Item): number | undefined {
  const found = EXIT.exec(text.slice(-400)) ?? EXIT.exec(text.slice(0, 400))
  if (found !== null) return Number(found[1])
  return isError === true ? 1 : undefined
}

/** The last line that speaks of an error: what came before it was on the way there. */
function errorLineOf(text: string): string | undefined {
  const lines = text.slice(-4_000).split('\n')
  return lines
    .findLast((line) => ERROR_LINE.test(line) && !EXIT.test(line))
    ?.trim()
    .slice(0, LONGEST)
}

/** A call of a tool that is no shell: its name and what it was asked. */
const callText = ({ toolName = 'tool', text }: Item): string =>
  `${toolName} ${text === '{}' ? '' : text}`.trim().replace(/\s+/g, ' ').slice(0, LONGEST)

function commandIn(json: string): string | undefined {
  try {
    const input = JSON.parse(json) as Record<string, unknown>
    for (const key of COMMAND_KEYS) {
      const value = input[key]
      const command = Array.isArray(value) ? value.join(' ') : value
      if (typeof command === 'string' && command !== '') return command.split('\n')[0]!.slice(0, LONGEST)
    }
  } catch {
    // Not an object: no command to name.
  }
  return undefined
}
