/** A run of lines that belong together: a paragraph, a small function, a group of matches. Half-open. */
export interface Passage {
  readonly from: number
  readonly to: number
}

/** Fewer lines than this seldom make sense alone. */
const FEWEST = 3
/** What ends within this many lines stays whole: most functions and paragraphs do. */
const WHOLE = 24
/** Lines without any structure come in groups of this size. */
const PLAIN = 12

/** Cuts a text into passages: between blocks first, inside long blocks at blank lines, and where there is no structure by number. */
export function passagesOf(lines: readonly string[]): Passage[] {
  const passages: Passage[] = []
  let from = 0
  for (let i = 1; i <= lines.length; i++) {
    const isEnd = i === lines.length
    if (!isEnd && !(beginsBlock(lines, from, i) && i - from >= FEWEST)) continue
    addBlock(lines, from, i, passages)
    from = i
  }
  return passages
}

/** Behind a blank line, and no deeper than the block before it began. */
const beginsBlock = (lines: readonly string[], from: number, i: number): boolean =>
  isBlank(lines[i - 1]!) && !isBlank(lines[i]!) && depthOf(lines[i]!) <= depthOf(lines[from]!)

function addBlock(lines: readonly string[], from: number, to: number, passages: Passage[]): void {
  let start = from
  while (to - start > WHOLE) {
    let cut = start + WHOLE
    while (cut > start + FEWEST && !isBlank(lines[cut - 1]!)) cut--
    if (cut === start + FEWEST) cut = start + PLAIN
    passages.push({ from: start, to: cut })
    start = cut
  }
  if (start < to) passages.push({ from: start, to })
}

const LISTING_NUMBER = /^\s*\d+[→\t:|]/
const bare = (line: string): string => line.replace(LISTING_NUMBER, '')
const isBlank = (line: string): boolean => bare(line).trim() === ''
const depthOf = (line: string): number => /^\s*/.exec(bare(line))![0].length
