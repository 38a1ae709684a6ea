import { distinct, fileRead, type Piece } from './measures.ts'

/** Results with the same bytes. */
export interface Duplicate {
  readonly tool: string | undefined
  readonly target: string | undefined
  readonly copies: number
  /** Of all copies but the first. */
  readonly tokens: number
  readonly sentTokens: number
  readonly lines: readonly number[]
}

/** A file that was read more than once. */
export interface ReadAgain {
  readonly path: string
  readonly reads: number
  /** Of what older reads showed and a newer one showed again. */
  readonly tokens: number
  /** The same, for the calls that were made after a newer read had come. */
  readonly sentTokens: number
}

export interface Repeats {
  readonly duplicates: readonly Duplicate[]
  readonly readAgain: readonly ReadAgain[]
  /** Share of the lines in results that had stood in an earlier result. */
  readonly repeatedLineShare: number
}

// Shorter texts ("ok", "no matches") repeat without costing anything.
const MIN_DUPLICATE = 200
const MIN_LINE = 20

export function repeatsOf(pieces: readonly Piece[]): Repeats {
  const once = distinct(pieces)
  return { duplicates: duplicatesOf(once), readAgain: readAgainOf(once), repeatedLineShare: repeatedLines(once) }
}

function duplicatesOf(pieces: readonly Piece[]): readonly Duplicate[] {
  const groups = new Map<string, Piece[]>()
  for (const piece of pieces) {
    if (piece.part.kind !== 'result' || piece.part.text.length < MIN_DUPLICATE) continue
    const group = groups.get(piece.part.text)
    if (group === undefined) groups.set(piece.part.text, [piece])
    else group.push(piece)
  }
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group): Duplicate => {
      const [first, ...copies] = group as [Piece, ...Piece[]]
      return {
        tool: first.tool,
        target: first.target,
        copies: group.length,
        tokens: Math.round(copies.reduce((sum, { tokens }) => sum + tokens, 0)),
        sentTokens: Math.round(copies.reduce((sum, { tokens, timesSent }) => sum + tokens * timesSent, 0)),
        lines: group.map(({ line }) => line),
      }
    })
    .sort((a, b) => b.sentTokens - a.sentTokens)
}

function readAgainOf(pieces: readonly Piece[]): readonly ReadAgain[] {
  const pathOf = new Map<string, string>()
  const reads = new Map<string, Piece[]>()
  for (const piece of pieces) {
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

/** Other parts of the same file are no repetition: what counts is the lines that a newer read shows again. */
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
    // Later pieces are sent in fewer calls: what the newer one was sent in, the older one was sent in for nothing.
    sentTokens += read.tokens * share * Math.min(read.timesSent, newer?.timesSent ?? 0)
    for (const line of lines) newerLines.add(line)
  }
  return { path, reads: group.length, tokens: Math.round(tokens), sentTokens: Math.round(sentTokens) }
}

/** `  12→code`, `12\tcode`, `12: code`: the number moves when the file changes, the line may not. */
const withoutLineNumber = (line: string): string => line.replace(/^\s*\d+(?:→|\t|: ?|\| ?)/, '').trim()

function repeatedLines(pieces: readonly Piece[]): number {
  const seen = new Set<string>()
  let lines = 0
  for (const { part } of pieces) {
    if (part.kind !== 'result') continue
    for (const line of part.text.split('\n')) {
      if (line.length < MIN_LINE) continue
      lines++
      seen.add(line)
    }
  }
  return lines === 0 ? 0 : (lines - seen.size) / lines
}
