import type { Item } from '../../../core/item.ts'

type Input = Readonly<Record<string, unknown>>

/** Reads what calls were given, each of them once, for as long as the reader is held: one record, one measurement. */
export interface CallReader {
  /** A call's arguments as an object; undefined for free text and for what is no JSON. */
  argumentsOf(call: Item): Input | undefined
  /** The command that a call runs, whole. */
  commandOf(call: Item): string | undefined
  /** The file or folder that a call is about. */
  pathOf(call: Item): string | undefined
  /** What a call is about, in one line: its path, its command, what it searches for. */
  mainArgument(call: Item): string
  /** A call in one line: the tool, what it is about, and its other small arguments. */
  callLine(call: Item, most?: number): string
}

export function callReader(): CallReader {
  const known = new Map<Item, Input | undefined>()
  const argumentsOf = (call: Item): Input | undefined => {
    if (!known.has(call)) known.set(call, read(call.text))
    return known.get(call)
  }
  return {
    argumentsOf,
    commandOf: (call) => firstText(argumentsOf(call), COMMAND),
    pathOf: (call) => firstText(argumentsOf(call), PATH),
    mainArgument: (call) => mainArgument(call, argumentsOf(call)),
    callLine: (call, most = LINE_CHARACTERS) => callLine(call, argumentsOf(call), most),
  }
}

function read(text: string): Input | undefined {
  if (text.trimStart()[0] !== '{') return undefined
  try {
    return JSON.parse(text) as Input
  } catch {
    return undefined
  }
}

const COMMAND = ['command', 'cmd', 'script', 'shell_command', 'code']
const PATH = ['file_path', 'path', 'absolute_path', 'notebook_path', 'filename', 'filepath', 'filePath', 'file']
const TOPIC = ['pattern', 'query', 'regex', 'url', 'subject', 'description', 'question', 'name', 'prompt']

function firstText(input: Input | undefined, keys: readonly string[]): string | undefined {
  if (input === undefined) return undefined
  for (const key of keys) {
    const value = input[key]
    const text = Array.isArray(value) ? value.join(' ') : value
    if (typeof text === 'string' && text.trim() !== '') return text.trim()
  }
  return undefined
}

function mainArgument(call: Item, input: Input | undefined): string {
  const path = firstText(input, PATH)
  // An editor's "command" is what it does to a path: the path is what the call is about.
  const isEditor = typeof input?.['command'] === 'string' && path !== undefined
  const found = isEditor ? path : (firstText(input, COMMAND) ?? pathsInPatch(call.text).join(' '))
  const main = found === '' ? (path ?? firstText(input, TOPIC) ?? anyText(input)) : found
  return firstLine(main ?? (input === undefined ? call.text : ''))
}

const anyText = (input: Input | undefined): string | undefined =>
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

const LINE_CHARACTERS = 160
const SHORT = 60

function callLine(call: Item, input: Input | undefined, most: number): string {
  const main = mainArgument(call, input)
  const small = Object.entries(input ?? {})
    .filter(([, value]) => isSmall(value) && firstLine(String(value)) !== main)
    .map(([key, value]) => `${key}=${String(value)}`)
  const line = [call.toolName ?? 'call', main, ...small].filter((part) => part !== '').join(' ')
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

const isSmall = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '' && value.length <= SHORT && !value.includes('\n')) ||
  typeof value === 'number' ||
  value === true

/** One name for each file, of the names that calls gave it. */
export type FileNames = (path: string) => string

/**
 * Calls name one file by its whole path and by the part of it below the folder they run in, which no request tells. Where a relative path of at
 * least two parts ends exactly one whole path, what stands before it there is such a folder; a file name alone is only looked up in those.
 */
export function fileNames(paths: Iterable<string>): FileNames {
  /** As the calls wrote them. */
  const written = new Map<string, string>()
  for (const path of paths) written.set(tidy(path), path)
  const all = new Set(written.keys())
  const whole = [...all].filter(isWhole)
  const byEnding = endingsOf(whole)
  const folders = new Set<string>()
  const known = new Map<string, string>()
  for (const path of all) {
    if (isWhole(path) || !path.includes('/')) continue
    const found = byEnding.get(path)
    if (found === undefined || found === AMBIGUOUS) continue
    known.set(path, found)
    folders.add(found.slice(0, -path.length))
  }
  for (const path of all) {
    if (isWhole(path) || known.has(path)) continue
    const found = [...folders].map((folder) => folder + path).filter((name) => all.has(name))
    if (found.length === 1) known.set(path, found[0]!)
  }
  return (path) => {
    const name = known.get(tidy(path)) ?? tidy(path)
    return written.get(name) ?? name
  }
}

const AMBIGUOUS = ''

const isWhole = (path: string): boolean => /^(?:[/~]|[A-Za-z]:\/)/.test(path)

const tidy = (path: string): string => path.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '')

/** Whole paths by each of their endings of two parts and more; those that two of them share say nothing. */
function endingsOf(whole: readonly string[]): ReadonlyMap<string, string> {
  const endings = new Map<string, string>()
  for (const path of whole) {
    const parts = path.split('/')
    for (let from = Math.max(1, parts.length - MOST_PARTS); from < parts.length - 1; from++) {
      const ending = parts.slice(from).join('/')
      endings.set(ending, endings.has(ending) ? AMBIGUOUS : path)
    }
  }
  return endings
}

/** Deeper relative paths are taken for files of their own: paths come from outside, and may be of any length. */
const MOST_PARTS = 32
