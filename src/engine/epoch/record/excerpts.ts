/** File listings number their lines; the number is not part of what is quoted. */
const LISTING_NUMBER = /^\s*\d+[→\t:|]/

/** What makes two lines the same, wherever they are indented or numbered. */
export const lineKey = (line: string): string => line.replace(LISTING_NUMBER, '').trim()

/** A text that excerpts are taken from: a result, or what a call was given to write or run. */
export interface ExcerptSource {
  /** How it is announced where something of it is shown. */
  readonly label: string
  readonly lines: readonly string[]
  /** How much its lines are worth against those of other kinds. */
  readonly weight: number
  /** Model calls since it came. */
  readonly age: number
  readonly tokensPerCharacter: number
  /** Lines that are no content: what the tool prints every time. */
  readonly isNoise: (line: string) => boolean
  /** Whether a later edit took a line out of the same file. */
  readonly isStale?: (key: string) => boolean
}

/** Half of what a line is worth is gone after this many model calls. One round number: 10 and 40 measure the same. */
const HALF_AGE = 20
/** A passage with fewer lines that are not blank is shown with its neighbours. */
const FEWEST = 2
/** A longer line is data, not text; it has a handle. */
const MAX_LENGTH = 1_000
/** Lines below this length (`}`, `return nil`) say little by themselves. */
const TELLING = 20
const SHORT_WORTH = 0.2
/** Gaps of so few lines are closed: the mark would cost as much. */
const CLOSE_GAP = 2

interface Candidate extends Passage {
  readonly source: number
  readonly cost: number
  readonly worth: number
}

/**
 * Chooses passages under a token budget, best worth per token first: newer before older, what a newer copy or the view shows anyway (`shown`,
 * by key) counting nothing. Returns the chosen runs of each source. Deterministic; n log n in the number of lines.
 */
export function chooseExcerpts(
  sources: readonly ExcerptSource[],
  budget: number,
  shown: ReadonlySet<string>,
): Passage[][] {
  const chosen: Passage[][] = sources.map(() => [])
  let left = budget
  for (const { source, from, to, cost } of candidatesOf(sources, shown)) {
    const picked = chosen[source]!
    const price = picked.length === 0 ? cost + labelTokens(sources[source]!) : cost
    if (price > left) continue
    left -= price
    picked.push({ from, to })
    if (left < 1) break
  }
  return chosen.map((passages, s) => joined(passages, sources[s]!.lines))
}

function candidatesOf(sources: readonly ExcerptSource[], shown: ReadonlySet<string>): Candidate[] {
  const candidates: Candidate[] = []
  const taken = new Set(shown)
  for (let s = sources.length - 1; s >= 0; s--) {
    const { lines, weight, age, tokensPerCharacter, isNoise, isStale } = sources[s]!
    const recency = weight / (1 + age / HALF_AGE)
    const worths = new Float64Array(lines.length)
    for (let l = lines.length - 1; l >= 0; l--) {
      const line = lines[l]!
      const key = lineKey(line)
      if (key === '' || line.length > MAX_LENGTH || taken.has(key) || isNoise(line) || isStale?.(key) === true) continue
      taken.add(key)
      worths[l] = recency * (key.length < TELLING ? SHORT_WORTH : 1)
    }
    for (const passage of passagesOf(lines)) {
      const { from, to } = trimmed(passage, worths, lines)
      let worth = 0
      let characters = 0
      for (let l = from; l < to; l++) {
        worth += worths[l]!
        characters += Math.min(MAX_LENGTH, lines[l]!.length) + 1
      }
      if (worth === 0) continue
      const cost = characters * tokensPerCharacter
      candidates.push({ source: s, from, to, cost, worth: worth / cost })
    }
  }
  // Equal worth: the newer passage first, so that the order never depends on the engine's sort.
  return candidates.sort((a, b) => b.worth - a.worth || b.source - a.source || b.from - a.from)
}

const labelTokens = ({ label, tokensPerCharacter }: ExcerptSource): number =>
  label.length * Math.max(0.3, tokensPerCharacter)

/** Without the lines at both ends that add nothing, as long as a few are left: a line alone says little. */
function trimmed({ from, to }: Passage, worths: Float64Array, lines: readonly string[]): Passage {
  let [first, last] = [from, to]
  while (first < last && worths[first] === 0) first++
  while (last > first && worths[last - 1] === 0) last--
  if (first === last) return { from: first, to: last }
  const says = (l: number): number => (lines[l]!.trim() === '' ? 0 : 1)
  let telling = 0
  for (let l = first; l < last && telling < FEWEST; l++) telling += says(l)
  while (telling < FEWEST && (last < to || first > from)) {
    if (last < to) telling += says(last++)
    if (telling < FEWEST && first > from) telling += says(--first)
  }
  return { from: first, to: last }
}

/** In order, runs that touch or nearly touch made one. */
function joined(passages: readonly Passage[], lines: readonly string[]): Passage[] {
  const runs: Passage[] = []
  for (const passage of passages.toSorted((a, b) => a.from - b.from)) {
    const before = runs.at(-1)
    const gap = before === undefined ? Infinity : passage.from - before.to
    const isSmall =
      gap <= CLOSE_GAP || (gap < 20 && lines.slice(before!.to, passage.from).every((line) => line.trim() === ''))
    if (before !== undefined && isSmall) runs[runs.length - 1] = { from: before.from, to: passage.to }
    else runs.push(passage)
  }
  return runs
}

/** The chosen runs under their label, with a mark between them where something was left out. */
export function renderExcerpt({ label, lines, isNoise, isStale }: ExcerptSource, runs: readonly Passage[]): string {
  const shown = runs.map(({ from, to }) =>
    lines
      .slice(from, to)
      .filter((line) => !isNoise(line))
      .map((line) =>
        line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH).replace(/[\uD800-\uDBFF]$/, '')}…` : line,
      )
      .join('\n'),
  )
  const count = runs.reduce((sum, { from, to }) => sum + to - from, 0)
  const isEdited = runs.some(({ from, to }) => lines.slice(from, to).some((line) => isStale?.(lineKey(line)) === true))
  const notes = [
    ...(count < lines.length ? [`${count} of ${lines.length} lines`] : []),
    ...(isEdited ? ['edited since'] : []),
  ]
  return [`${label}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`, shown.join('\n…\n')].join('\n')
}

/** A run of lines that belong together: a paragraph, a small function, a group of matches. Half-open. */
export interface Passage {
  readonly from: number
  readonly to: number
}

/** A passage of fewer lines seldom makes sense alone. */
const FEWEST_LINES = 3
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
    if (!isEnd && !(beginsBlock(lines, from, i) && i - from >= FEWEST_LINES)) continue
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
    while (cut > start + FEWEST_LINES && !isBlank(lines[cut - 1]!)) cut--
    if (cut === start + FEWEST_LINES) cut = start + PLAIN
    passages.push({ from: start, to: cut })
    start = cut
  }
  if (start < to) passages.push({ from: start, to })
}

const bare = (line: string): string => line.replace(LISTING_NUMBER, '')
const isBlank = (line: string): boolean => bare(line).trim() === ''
const depthOf = (line: string): number => /^\s*/.exec(bare(line))![0].length
