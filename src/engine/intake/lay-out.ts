import { rootSpan, skipString } from '../../core/json/lexer.ts'
import { isJsonText } from '../../core/values.ts'
import { boundary, byteLength, cutHeadBytes } from './text.ts'

/**
 * Text laid out in lines, so that line tools (grep, head, ranges) say something about minified content. After ai-agent's
 * formatter, with one difference: this is a view made when it is needed. What is stored stays the original bytes.
 */
export interface LayOutOptions {
  /** Longer lines are broken near here, at a separator when there is one. @default 1000 */
  readonly softChars?: number
  /** How far from `softChars` a separator may be. @default 200 */
  readonly slack?: number
  /** No line is longer. @default 2000 */
  readonly hardBytes?: number
}

export function layOut(text: string, options: LayOutOptions = {}): string {
  const { softChars = 1_000, slack = 200, hardBytes = 2_000 } = options
  const out: string[] = []
  for (const line of structured(text).split('\n')) breakLine(out, line, softChars, slack, hardBytes)
  return out.join('\n')
}

function structured(text: string): string {
  const first = text.trimStart()[0]
  if (first === '{' || first === '[') return indentJson(text)
  if (first === '<') return text.replaceAll(/>(?=<)/g, '>\n')
  // A log or message that was escaped on its way: one line with the two characters "\n" in it.
  return !text.includes('\n') && text.includes('\\n') ? text.replaceAll('\\n', '\n') : text
}

const SPACE = new Set([' ', '\n', '\r', '\t'])

/** Indents JSON token by token: numbers and strings as written, no recursion. Text that is no JSON comes back unchanged. */
function indentJson(text: string): string {
  if (rootSpan(text) === undefined || !isJsonText(text)) return text
  const out: string[] = []
  let depth = 0
  const breakTo = (level: number): void => void out.push('\n', ' '.repeat(Math.min(level, MAX_INDENT) * 2))
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (SPACE.has(char)) continue
    if (char === '"') {
      const end = skipString(text, i)
      out.push(text.slice(i, end))
      i = end - 1
    } else if (char === '{' || char === '[') {
      const next = nextToken(text, i + 1)
      if (text[next] === '}' || text[next] === ']') {
        out.push(char, text.charAt(next))
        i = next
      } else {
        out.push(char)
        breakTo(++depth)
      }
    } else if (char === '}' || char === ']') {
      breakTo(--depth)
      out.push(char)
    } else if (char === ',') {
      out.push(char)
      breakTo(depth)
    } else out.push(char === ':' ? ': ' : char)
  }
  return out.join('')
}

/** Deeper than this, indentation would be most of the text. */
const MAX_INDENT = 40

function nextToken(text: string, at: number): number {
  while (SPACE.has(text[at] ?? '')) at++
  return at
}

function breakLine(out: string[], line: string, softChars: number, slack: number, hardBytes: number): void {
  let at = 0
  while (line.length - at > softChars + slack) {
    const end = breakPoint(line, at, softChars, slack)
    at += pushWithin(out, line.slice(at, end), hardBytes)
  }
  let rest = line.slice(at)
  while (byteLength(rest) > hardBytes) rest = rest.slice(pushWithin(out, rest, hardBytes))
  out.push(rest)
}

/** Behind the last separator near `soft`; without one, exactly there. */
function breakPoint(line: string, at: number, soft: number, slack: number): number {
  const from = at + soft - slack
  const window = line.slice(from, at + soft + slack)
  const found = Math.max(...[' ', ',', ';', '>', '}', '|', '&'].map((separator) => window.lastIndexOf(separator)))
  return boundary(line, found < 0 ? at + soft : from + found + 1)
}

/** Pushes as much of a piece as `bytes` allow, and says how much that was. */
function pushWithin(out: string[], piece: string, bytes: number): number {
  const part = cutHeadBytes(piece, bytes)
  out.push(part)
  return part.length
}
