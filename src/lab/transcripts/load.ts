import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { PlimsollError } from '../../core/errors.ts'
import type { TranscriptLoader, LoadOptions, Problem, Recording, SourceValue } from './recording.ts'
import { readOpenCodeStorage, openCode } from './agents/opencode.ts'
import { claudeCode } from './agents/claude-code.ts'
import { cline } from './agents/cline.ts'
import { codexRollout } from './agents/codex-rollout.ts'
import { copilotCli } from './agents/copilot-cli.ts'
import { geminiCli } from './agents/gemini-cli.ts'
import { openHands, sweAgent, tau2Bench, tauBench } from './agents/harnesses.ts'
import { pi } from './agents/pi.ts'
import { anthropic, openaiChat, requestLog } from './histories.ts'
import { isJsonText, parsedJson } from '../../core/values.ts'

export interface LoadedFile {
  readonly file: string
  readonly recordings: readonly Recording[]
  /** Problems by line. Everything readable was loaded anyway. */
  readonly problems: readonly Problem[]
}

/** Loads a transcript from its text. Never throws: each unreadable part is a problem with a line number. */
export function loadTranscript(text: string, file: string, options: LoadOptions = {}): LoadedFile {
  const source = readSource(text)
  const problems: Problem[] = [...source.problems]
  const groups = groupByFormat(source.values, problems)
  const recordings = [...groups].flatMap(([loader, values]) => loader.load(values, { file, options, problems }))
  if (groups.size === 0 && source.values.length > 0) {
    const line = source.values[0]?.line ?? 1
    problems.push({ line, message: 'No known transcript format was recognised here.' })
  }
  problems.sort((a, b) => a.line - b.line)
  return { file, recordings, problems }
}

const unzip = promisify(gunzip)

/** @throws PlimsollError `not-found` or `bad-input` when the file itself cannot be opened or unpacked. */
export async function loadFile(file: string, options: LoadOptions = {}): Promise<LoadedFile> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (cause) {
    throw new PlimsollError('not-found', `${file} cannot be read.`, {
      cause,
      advice: 'Check the path and its permissions.',
      fields: { file },
    })
  }
  // gzip is recognised by its first bytes, 1f 8b, not by the file name.
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      bytes = await unzip(bytes)
    } catch (cause) {
      throw new PlimsollError('bad-input', `${file} is a damaged gzip file.`, { cause, fields: { file } })
    }
  }
  const loaded = loadTranscript(bytes.toString('utf8'), file, options)
  if (loaded.recordings.length > 0) return loaded
  const gathered = await readOpenCodeStorage(file)
  return gathered === undefined ? loaded : loadTranscript(gathered, file, options)
}

/** Groups values by format. A value of no known format joins the group of the values around it. */
function groupByFormat(values: readonly SourceValue[], problems: Problem[]): Map<TranscriptLoader, SourceValue[]> {
  const groups = new Map<TranscriptLoader, SourceValue[]>()
  let current: TranscriptLoader | undefined
  const leading: SourceValue[] = []
  for (const entry of values) {
    const recognised = current?.recognises(entry.value) === true ? current : detectLoader(entry.value)
    if (recognised !== undefined && current !== undefined && recognised !== current && !groups.has(recognised)) {
      problems.push({
        line: entry.line,
        message: `${recognised.format} lines begin here in a ${current.format} file; read as a separate recording.`,
      })
    }
    current = recognised ?? current
    if (current === undefined) leading.push(entry)
    else {
      const group = groups.get(current)
      if (group === undefined) groups.set(current, [...leading.splice(0), entry])
      else group.push(entry)
    }
  }
  return groups
}

/** The most specific format first: a later one may also accept what an earlier one recognises. */
const LOADERS: readonly TranscriptLoader[] = [
  claudeCode,
  copilotCli,
  geminiCli,
  cline,
  openCode,
  tauBench,
  tau2Bench,
  sweAgent,
  openHands,
  pi,
  anthropic,
  openaiChat,
  codexRollout,
  requestLog,
]

/** The format of a JSON value by its content; the file name is not used. */
function detectLoader(value: unknown): TranscriptLoader | undefined {
  return LOADERS.find((loader) => loader.recognises(value))
}

export interface Source {
  readonly values: readonly SourceValue[]
  readonly problems: readonly Problem[]
}

/** Reads a file that is one JSON document or has one JSON value per line. Unreadable parts are reported as problems. */
export function readSource(text: string): Source {
  const start = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const first = firstLine(text, start)
  if (first === undefined) return { values: [], problems: [{ line: 1, message: 'The file is empty.' }] }
  // If the first line is a complete value, the file has one value per line; otherwise it is one document.
  if (isJsonText(first.text) || !/^[[{]/.test(first.text)) return readLines(text, start)
  const whole = parsedJson(text.slice(start))
  if (whole !== undefined) return { values: [{ value: whole, line: first.line }], problems: [] }
  const lines = readLines(text, start)
  // Several readable objects on lines of their own: JSON lines whose first line is broken.
  if (lines.values.filter(({ value }) => typeof value === 'object' && value !== null).length > 1) return lines
  const salvaged = salvageJson(text.slice(start))
  if (salvaged === undefined) return lines
  const line = 1 + countLines(text, start + salvaged.cutAt)
  const message = `The JSON document ends or is damaged here; everything before was read.`
  return { values: [{ value: salvaged.value, line: first.line }], problems: [{ line, message }] }
}

function readLines(text: string, start: number): Source {
  const values: SourceValue[] = []
  const problems: Problem[] = []
  let line = 0
  for (let from = start; from < text.length;) {
    line++
    let to = text.indexOf('\n', from)
    if (to < 0) to = text.length
    const content = text.slice(from, to).trim()
    from = to + 1
    if (content === '') continue
    const parsed = parsedJson(content)
    if (parsed !== undefined) {
      values.push({ value: parsed, line })
      continue
    }
    const several = splitConcatenated(content)
    for (const value of several.values) values.push({ value, line })
    if (several.values.length > 1 && several.complete) {
      problems.push({ line, message: `${several.values.length} JSON objects are on one line; all were read.` })
    } else {
      problems.push({ line, message: brokenLine(content, from > text.length, several.values.length) })
    }
  }
  return { values, problems }
}

function brokenLine(content: string, last: boolean, read: number): string {
  const start = content.length > 40 ? `${content.slice(0, 40)}…` : content
  const what = last ? 'The last line is incomplete' : 'The line is not JSON'
  return `${what} (${start})${read > 0 ? `; ${read} complete object(s) before the break were read.` : '; skipped.'}`
}

/** Two processes that write without a lock can leave `{…}{…}` on one line. */
function splitConcatenated(content: string): { values: unknown[]; complete: boolean } {
  const values: unknown[] = []
  let from = 0
  while (from < content.length) {
    const { complete, cutAt } = scan(content, from)
    const parsed = complete ? parsedJson(content.slice(from, cutAt)) : undefined
    if (parsed === undefined) break
    values.push(parsed)
    from = cutAt
  }
  return { values, complete: content.slice(from).trim() === '' }
}

function firstLine(text: string, start: number): { text: string; line: number } | undefined {
  let line = 1
  for (let from = start; from < text.length; line++) {
    let to = text.indexOf('\n', from)
    if (to < 0) to = text.length
    const content = text.slice(from, to).trim()
    if (content !== '') return { text: content, line }
    from = to + 1
  }
  return undefined
}

function countLines(text: string, to: number): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

const CLOSER: Readonly<Record<string, string>> = { '{': '}', '[': ']' }

interface Scanned {
  /** The end of the value, or of its last complete element or member. */
  readonly cutAt: number
  /** Brackets that were open there. */
  readonly open: readonly string[]
  /** The offset at which reading stopped. */
  readonly end: number
  readonly complete: boolean
}

/** Follows the brackets of one value in one pass, without recursion: a file that ends 100,000 levels deep takes linear time. */
function scan(text: string, from: number): Scanned {
  const open: string[] = []
  let cutAt = from
  let cutDepth = 0
  let inString = false
  let at = from
  for (; at < text.length; at++) {
    const character = text[at]!
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') open.push(character)
    else if (character === '}' || character === ']') {
      if (CLOSER[open.at(-1) ?? ''] !== character) break
      open.pop()
      cutAt = at + 1
      cutDepth = open.length
      if (cutDepth === 0) return { cutAt, open, end: cutAt, complete: true }
    } else if (character === ',' && open.length > 0) {
      cutAt = at
      cutDepth = open.length
    }
  }
  // The brackets open at the cut are the outermost ones, because later ones were opened after it.
  return { cutAt, open: open.slice(0, cutDepth), end: at, complete: false }
}

/** Reads a damaged document up to its last complete element and closes it; `cutAt` is the offset of the damage. */
function salvageJson(text: string): { readonly value: unknown; readonly cutAt: number } | undefined {
  const { cutAt, open, end } = scan(text, 0)
  const closers = open.map((opener) => CLOSER[opener]).toReversed()
  const parsed = parsedJson(text.slice(0, cutAt) + closers.join(''))
  return parsed === undefined ? undefined : { value: parsed, cutAt: Math.max(cutAt, end - 1) }
}
