import { distinct, fileRead, type Piece } from './measures.ts'

export interface ReadAgain {
  readonly path: string
  readonly reads: number
  /** Tokens of older reads whose lines a newer read showed again. */
  readonly tokens: number
  /** The same, as often as they were sent after the newer read. */
  readonly sentTokens: number
}

/** Files that were read more than once, the most expensive first. */
export function readAgainOf(pieces: readonly Piece[]): readonly ReadAgain[] {
  const pathOf = new Map<string, string>()
  const reads = new Map<string, Piece[]>()
  for (const piece of distinct(pieces)) {
    const { part } = piece
    if (part.callId === undefined) continue
    const path = fileRead(part)
    if (path !== undefined) pathOf.set(part.callId, path)
    const read = part.kind === 'result' ? pathOf.get(part.callId) : undefined
    if (read === undefined) continue
    const group = reads.get(read)
    if (group === undefined) reads.set(read, [piece])
    else group.push(piece)
  }
  return [...reads]
    .filter(([, group]) => group.length > 1)
    .map(([path, group]) => repeatedReads(path, group))
    .filter(({ tokens }) => tokens > 0)
    .sort((a, b) => b.sentTokens - a.sentTokens)
}

/** Reading another part of the file is no repetition, so only lines that a newer read contains again are counted. */
function repeatedReads(path: string, group: readonly Piece[]): ReadAgain {
  const newerLines = new Set<string>()
  let tokens = 0
  let sentTokens = 0
  for (let i = group.length - 1; i >= 0; i--) {
    const read = group[i] as Piece
    const lines = read.part.text
      .split('\n')
      .map(withoutLineNumber)
      .filter((line) => line.length > 2)
    const again = lines.filter((line) => newerLines.has(line)).length
    const share = lines.length === 0 ? 0 : again / lines.length
    const newer = group[i + 1]
    tokens += read.tokens * share
    // The older read was sent in vain in the calls that also contained the newer one.
    sentTokens += read.tokens * share * Math.min(read.timesSent, newer?.timesSent ?? 0)
    for (const line of lines) newerLines.add(line)
  }
  return { path, reads: group.length, tokens: Math.round(tokens), sentTokens: Math.round(sentTokens) }
}

/** Removes a line number (`  12→code`, `12\tcode`, `12: code`): an edit of the file changes numbers of unchanged lines. */
const withoutLineNumber = (line: string): string => line.replace(/^\s*\d+(?:→|\t|: ?|\| ?)/, '').trim()
