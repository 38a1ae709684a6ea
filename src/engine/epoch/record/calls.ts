import type { Item } from '../../../core/item.ts'
import { parsedJson, recordOf, type Fields } from '../../../core/values.ts'
import { cutHead } from '../../intake/text.ts'

/** A record asks many times what each call was given. */
const known = new WeakMap<Item, Fields | undefined>()

/** A call's arguments as an object; undefined for free text and for what is no JSON. */
export function argumentsOf(call: Item): Fields | undefined {
  if (!known.has(call)) known.set(call, recordOf(parsedJson(call.text)))
  return known.get(call)
}

/** The command that a call runs, whole. */
export const commandOf = (call: Item): string | undefined => firstText(argumentsOf(call), COMMAND)

/** The file or folder that a call is about. */
export const pathOf = (call: Item): string | undefined => firstText(argumentsOf(call), PATH)

const COMMAND = ['command', 'cmd', 'script', 'shell_command', 'code']
const PATH = ['file_path', 'path', 'absolute_path', 'notebook_path', 'filename', 'filepath', 'filePath', 'file']
const TOPIC = ['pattern', 'query', 'regex', 'url', 'subject', 'description', 'question', 'name', 'prompt']

function firstText(input: Fields | undefined, keys: readonly string[]): string | undefined {
  if (input === undefined) return undefined
  for (const key of keys) {
    const value = input[key]
    const text = Array.isArray(value) ? value.filter((one) => typeof one === 'string').join(' ') : value
    if (typeof text === 'string' && text.trim() !== '') return text.trim()
  }
  return undefined
}

/** What a call is about, in one line: its path, its command, what it searches for. */
export function mainArgument(call: Item): string {
  const input = argumentsOf(call)
  const path = firstText(input, PATH)
  // An editor's "command" is what it does to a path: the path is what the call is about.
  const isEditor = typeof input?.['command'] === 'string' && path !== undefined
  const found = isEditor ? path : (firstText(input, COMMAND) ?? pathsInPatch(call.text).join(' '))
  const main = found === '' ? (path ?? firstText(input, TOPIC) ?? firstText(input, Object.keys(input ?? {}))) : found
  return firstLine(main ?? (input === undefined ? call.text : ''))
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]!.trimEnd()

const PATCHED = /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm

/** Files that a patch in the arguments names; JSON hides its line ends behind escapes. */
export function pathsInPatch(text: string): string[] {
  if (!text.includes('*** ') && !text.includes('+++ ')) return []
  const found = new Set<string>()
  for (const [, path] of text.replaceAll('\\n', '\n').matchAll(PATCHED)) found.add(path!.trim())
  found.delete('/dev/null')
  return [...found]
}

const LINE_CHARACTERS = 160
const SHORT = 60

/** Arguments that most calls of a tool have alike, by tool: said once, and not with each call. */
export type CommonArguments = ReadonlyMap<string, readonly string[]>

/** Fewer calls show no habit. */
const LEAST_CALLS = 4
const COMMON_SHARE = 0.5

export function commonArguments(items: readonly Item[]): CommonArguments {
  const calls = new Map<string, number>()
  const times = new Map<string, Map<string, number>>()
  for (const item of items) {
    if (item.kind !== 'call') continue
    const tool = item.toolName ?? 'call'
    const ofTool = times.get(tool) ?? new Map<string, number>()
    times.set(tool, ofTool)
    calls.set(tool, (calls.get(tool) ?? 0) + 1)
    for (const argument of smallArguments(item)) ofTool.set(argument, (ofTool.get(argument) ?? 0) + 1)
  }
  const habits = [...times].map(([tool, found]): [string, readonly string[]] => {
    const least = Math.max(LEAST_CALLS, COMMON_SHARE * calls.get(tool)!)
    return [tool, [...found].filter(([, count]) => count >= least).map(([argument]) => argument)]
  })
  return new Map(habits.filter(([, found]) => found.length > 0))
}

/** A call in one line: the tool, what it is about, and its other small arguments. */
export function callLine(call: Item, most = LINE_CHARACTERS, common?: CommonArguments): string {
  const tool = call.toolName ?? 'call'
  const left = smallArguments(call).filter((argument) => common?.get(tool)?.includes(argument) !== true)
  const line = [tool, mainArgument(call), ...left].filter((part) => part !== '').join(' ')
  return line.length <= most ? line : `${cutHead(line, most - 1)}…`
}

/** What an edit replaces, and by what, is told as a change. */
const EDITED = /^(?:old|new)(?:_|[A-Z])/

function smallArguments(call: Item): string[] {
  const main = mainArgument(call)
  return Object.entries(argumentsOf(call) ?? {})
    .filter(([key, value]) => isSmall(value) && !EDITED.test(key) && firstLine(String(value)) !== main)
    .map(([key, value]) => `${key}=${String(value)}`)
}

const isSmall = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '' && value.length <= SHORT && !value.includes('\n')) ||
  typeof value === 'number' ||
  value === true
