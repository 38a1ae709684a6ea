import type { Problem, SourceRecord } from './recording.ts'

export interface Source {
  readonly records: readonly SourceRecord[]
  readonly problems: readonly Problem[]
}

/** Reads a file that is one JSON document or one JSON value per line. What cannot be read is reported, never fatal. */
export function readSource(text: string): Source {
  const start = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const first = firstLine(text, start)
  if (first === undefined) return { records: [], problems: [{ line: 1, message: 'The file is empty.' }] }
  // A first line that is a value of its own means one value per line; else the document spans lines.
  if (parse(first.text) !== undefined || !/^[[{]/.test(first.text)) return readLines(text, start)
  const whole = parse(text.slice(start))
  if (whole !== undefined) return { records: [{ value: whole.value, line: first.line }], problems: [] }
  const lines = readLines(text, start)
  // More than one readable object among the lines: JSON lines with a broken first one.
  if (lines.records.filter(({ value }) => typeof value === 'object' && value !== null).length > 1) return lines
  const salvaged = salvageJson(text.slice(start))
  if (salvaged === undefined) return lines
  const line = 1 + countLines(text, start + salvaged.cutAt)
  const message = `The JSON document breaks off or is damaged here; what stands before it was read.`
  return { records: [{ value: salvaged.value, line: first.line }], problems: [{ line, message }] }
}

function readLines(text: string, start: number): Source {
  const records: SourceRecord[] = []
  const problems: Problem[] = []
  let line = 0
  for (let from = start; from < text.length;) {
    line++
    let to = text.indexOf('\n', from)
    if (to < 0) to = text.length
    const content = text.slice(from, to).trim()
    from = to + 1
    if (content === '') continue
    const parsed = parse(content)
    if (parsed !== undefined) {
      records.push({ value: parsed.value, line })
      continue
    }
    const several = splitConcatenated(content)
    for (const value of several.values) records.push({ value, line })
    if (several.values.length > 1 && several.complete) {
      problems.push({ line, message: `${several.values.length} JSON objects stand on one line; all were read.` })
    } else {
      problems.push({ line, message: brokenLine(content, from > text.length, several.values.length) })
    }
  }
  return { records, problems }
}

function brokenLine(content: string, last: boolean, read: number): string {
  const start = content.length > 40 ? `${content.slice(0, 40)}…` : content
  const what = last ? 'The last line breaks off' : 'The line is not JSON'
  return `${what} (${start})${read > 0 ? `; ${read} complete object(s) before the break were read.` : '; skipped.'}`
}

/** Two writers without a lock leave `{…}{…}` on one line. */
function splitConcatenated(content: string): { values: unknown[]; complete: boolean } {
  const values: unknown[] = []
  let depth = 0
  let from = 0
  let inString = false
  for (let i = 0; i < content.length; i++) {
    const code = content.charCodeAt(i)
    if (inString) {
      if (code === 92) i++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 123 || code === 91) depth++
    else if (code === 125 || code === 93) {
      depth--
      if (depth > 0) continue
      const parsed = parse(content.slice(from, i + 1))
      if (parsed === undefined || depth < 0) return { values, complete: false }
      values.push(parsed.value)
      from = i + 1
    }
  }
  return { values, complete: content.slice(from).trim() === '' }
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
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

/** A damaged JSON document, closed after the last element that was complete. */
interface Salvaged {
  readonly value: unknown
  /** Offset of the damage. */
  readonly cutAt: number
}

const CLOSER: Readonly<Record<string, string>> = { '{': '}', '[': ']' }

/**
 * Cuts a broken document behind its last complete array element or object member and closes what is open. One pass, no
 * recursion: a file that breaks off 100,000 levels deep costs no more than its length.
 */
function salvageJson(text: string): Salvaged | undefined {
  const open: string[] = []
  let cut = 0
  let cutDepth = 0
  let inString = false
  let end = text.length
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string
    if (inString) {
      if (character === '\\') i++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') open.push(character)
    else if (character === '}' || character === ']') {
      const opener = open.pop()
      if (opener === undefined || CLOSER[opener] !== character) {
        end = i
        break
      }
      if (open.length > 0) {
        cut = i + 1
        cutDepth = open.length
      }
    } else if (character === ',' && open.length > 0) {
      cut = i
      cutDepth = open.length
    }
  }
  if (cut === 0) return undefined
  // The brackets open at the cut are the outermost ones: later pushes stand behind it.
  const closers = reopened(text, cut)
    .slice(0, cutDepth)
    .map((opener) => CLOSER[opener])
    .toReversed()
    .join('')
  try {
    return { value: JSON.parse(text.slice(0, cut) + closers) as unknown, cutAt: Math.max(cut, end - 1) }
  } catch {
    return undefined
  }
}

function reopened(text: string, to: number): string[] {
  const open: string[] = []
  let inString = false
  for (let i = 0; i < to; i++) {
    const character = text[i] as string
    if (inString) {
      if (character === '\\') i++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') open.push(character)
    else if (character === '}' || character === ']') open.pop()
  }
  return open
}
