import type { Item } from '../../../core/item.ts'

/** A call's arguments as an object; undefined for free text and for what is no JSON. Each call is read once. */
export function argumentsOf(call: Item): Readonly<Record<string, unknown>> | undefined {
  if (!known.has(call)) known.set(call, read(call.text))
  return known.get(call)
}

const known = new WeakMap<Item, Readonly<Record<string, unknown>> | undefined>()

function read(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trimStart()[0] !== '{') return undefined
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}

const COMMAND = ['command', 'cmd', 'script', 'shell_command', 'code']
const PATH = ['file_path', 'path', 'absolute_path', 'notebook_path', 'filename', 'filepath', 'filePath', 'file']
const TOPIC = ['pattern', 'query', 'regex', 'url', 'subject', 'description', 'question', 'name', 'prompt']

/** The command that a call runs, whole. */
export const commandOf = (call: Item): string | undefined => firstText(call, COMMAND)

/** The file or folder that a call is about. */
export const pathOf = (call: Item): string | undefined => firstText(call, PATH)

function firstText(call: Item, keys: readonly string[]): string | undefined {
  const input = argumentsOf(call)
  if (input === undefined) return undefined
  for (const key of keys) {
    const value = input[key]
    const text = Array.isArray(value) ? value.join(' ') : value
    if (typeof text === 'string' && text.trim() !== '') return text.trim()
  }
  return undefined
}

/** What a call is about, in one line: its path, its command, what it searches for. */
export function mainArgument(call: Item): string {
  const input = argumentsOf(call)
  const isCommand = input !== undefined && typeof input['command'] === 'string' && pathOf(call) !== undefined
  // An editor's "command" is what it does to a path: the path is what the call is about.
  const found = isCommand ? pathOf(call) : (commandOf(call) ?? pathsInPatch(call.text).join(' ') ?? '')
  const main = found !== undefined && found !== '' ? found : (pathOf(call) ?? firstText(call, TOPIC) ?? anyText(input))
  return firstLine(main ?? (input === undefined ? call.text : ''))
}

const anyText = (input: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  Object.values(input ?? {}).find((value): value is string => typeof value === 'string' && value.trim() !== '')

const firstLine = (text: string): string => {
  const start = text.trimStart()
  const end = start.indexOf('\n')
  return end < 0 ? start.trimEnd() : start.slice(0, end).trimEnd()
}

const PATCHED = /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm

/** Files that a patch in the arguments names; JSON hides its line ends behind escapes. */
export function pathsInPatch(text: string): string[] {
  if (!text.includes('*** ') && !text.includes('+++ ')) return []
  const found = new Set<string>()
  for (const [, path] of text.replaceAll('\\n', '\n').matchAll(PATCHED)) found.add(path!.trim())
  found.delete('/dev/null')
  return [...found]
}

const SHORT = 60

/** A call in one line: the tool, what it is about, and its other small arguments. */
export function callLine(call: Item, most = 160): string {
  const main = mainArgument(call)
  const small = Object.entries(argumentsOf(call) ?? {})
    .filter(([, value]) => isSmall(value) && firstLine(String(value)) !== main)
    .map(([key, value]) => `${key}=${String(value)}`)
  const line = [call.toolName ?? 'call', main, ...small].filter((part) => part !== '').join(' ')
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

const isSmall = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '' && value.length <= SHORT && !value.includes('\n')) ||
  typeof value === 'number' ||
  value === true
