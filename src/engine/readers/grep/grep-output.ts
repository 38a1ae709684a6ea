import { byteLength } from '../reader.ts'

/** What is shown of a search, within a number of bytes, like `grep -n -C`: `12:` before a match, `12-` before its context. */
export interface GrepOutput {
  match(line: number, text: () => string): void
  /** A line that does not match; it may be context. */
  other(line: number, text: () => string): void
  /** There are more matches than were counted. */
  more(): void
  end(): GrepShown
}

export interface GrepShown {
  readonly text: string
  readonly shown: number
  readonly matches: number
  /** Not all matches after the offset are shown. */
  readonly full: boolean
  /** `matches` is a lower bound. */
  readonly least: boolean
}

export function grepOutput(room: number, context: number, offset: number, limit: number): GrepOutput {
  const lines: string[] = []
  let before: { line: number; text: string }[] = []
  let after = 0
  let used = 0
  let shown = 0
  let matches = 0
  let full = false
  let least = false
  let lastLine = 0

  function push(line: number, mark: ':' | '-', text: string): boolean {
    const gap = context > 0 && lastLine > 0 && line > lastLine + 1 ? '--\n' : ''
    const entry = `${gap}${line}${mark}${text}`
    const size = byteLength(entry) + 1
    if (used + size > room) return false
    used += size
    lastLine = line
    lines.push(entry)
    return true
  }

  function show(line: number, text: string): void {
    for (const each of before) if (each.line > lastLine && !push(each.line, '-', each.text)) break
    full = !push(line, ':', text)
    if (full) return
    shown++
    after = context
  }

  function remember(line: number, text: () => string): void {
    if (context === 0 || full) return
    before.push({ line, text: text() })
    if (before.length > context) before = before.slice(-context)
  }

  return {
    match(line, text) {
      const wanted = matches++ >= offset
      if (wanted && shown === limit) full = true
      if (wanted && !full) show(line, text())
      remember(line, text)
    },
    other(line, text) {
      if (after > 0 && !full) {
        after--
        push(line, '-', text())
      }
      remember(line, text)
    },
    more() {
      least = true
    },
    end: () => ({ text: lines.join('\n'), shown, matches, full, least }),
  }
}
