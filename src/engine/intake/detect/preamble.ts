import { isObjectAt, rootSpan } from '../../../core/json/lexer.ts'

/**
 * Length of what stands before the content proper: the status lines of a command runner, or a tool's own JSON header. It is
 * short, it often holds the exit code, and it hides the kind of what follows.
 */
const STATUS_LINE =
  /^(?:Exit code:? -?\d+|exit status \d+|Chunk ID: |Wall time: |Process (?:exited|running)|Original token count: |Total output lines: |Warning: truncated output|Output:|stdout:|stderr:|<retrieval_status>|Command: |Command exited)/
const MAX_LINES = 12
const MAX_HEADER_CHARS = 4_000

export function preambleOf(text: string): number {
  let at = 0
  for (let lines = 0; lines < MAX_LINES; lines++) {
    let end = text.indexOf('\n', at)
    if (end < 0) return lines === 0 ? 0 : at
    if (end - at > MAX_HEADER_CHARS) return at
    const line = text.slice(at, end)
    const blank = line.trim() === ''
    if (!STATUS_LINE.test(line) && !(blank && at > 0) && !isToolHeader(text, at, end)) return at
    at = end + 1
  }
  return at
}

/** A JSON object on a line of its own that names a tool or a status, with something else than JSON lines after it. */
function isToolHeader(text: string, at: number, end: number): boolean {
  if (!isObjectAt(text, at) || rootSpan(text.slice(at, end)) === undefined) return false
  const line = text.slice(at, end)
  return /"(?:toolset_name|tool_name|schema_version|return_code)"/.test(line)
}
