/** One source of verbatim lines: a result, a call's inputs, something that was said. */
export interface LineSource {
  readonly label: string
  readonly lines: readonly string[]
  /** How much its lines are worth against those of other kinds. */
  readonly weight: number
  /** Model calls since it came. */
  readonly age: number
  readonly tokensPerCharacter: number
}

export interface LineContext {
  /** Lines that stand in view anyway, by key. */
  readonly shown: ReadonlySet<string>
  /** Lines that the model itself wrote, by key. */
  readonly used: ReadonlyMap<string, LineUse>
}

/** How often the model wrote a line, and the calls since it last did. */
export interface LineUse {
  readonly times: number
  readonly age: number
}

// Fitted on recorded sessions (bench/recall.ts): what the model has quoted it quotes again, so use weighs far more than age.
const HALF_AGE = 20
const USED_BONUS = 10
const LABEL_TOKENS = 12
/** A longer line is data, not text; it has a handle. */
const MAX_LENGTH = 1_000

interface Candidate {
  readonly source: number
  readonly line: number
  readonly cost: number
  readonly worth: number
}

/**
 * Chooses verbatim lines under a token budget, best worth per token first: newer before older, used before unused, each line
 * once (its newest copy). Returns the chosen line numbers of each source. Deterministic; n log n in the number of lines.
 */
export function chooseLines(sources: readonly LineSource[], budget: number, context: LineContext): number[][] {
  const chosen: number[][] = sources.map(() => [])
  let left = budget
  for (const { source, line, cost } of candidatesOf(sources, context)) {
    const picked = chosen[source]!
    const price = picked.length === 0 ? cost + LABEL_TOKENS : cost
    if (price > left) continue
    left -= price
    picked.push(line)
    if (left < 1) break
  }
  return chosen.map((lines) => lines.sort((a, b) => a - b))
}

function candidatesOf(sources: readonly LineSource[], { shown, used }: LineContext): Candidate[] {
  const candidates: Candidate[] = []
  const taken = new Set(shown)
  for (let s = sources.length - 1; s >= 0; s--) {
    const source = sources[s]!
    const recency = source.weight / (1 + source.age / HALF_AGE)
    for (let l = source.lines.length - 1; l >= 0; l--) {
      const line = source.lines[l]!
      const key = lineKey(line)
      if (key === '' || line.length > MAX_LENGTH || taken.has(key)) continue
      taken.add(key)
      const use = used.get(key)
      const bonus = use === undefined ? 1 : 1 + (USED_BONUS * use.times) / (1 + use.age / HALF_AGE)
      const cost = (line.length + 1) * source.tokensPerCharacter
      candidates.push({ source: s, line: l, cost, worth: (recency * bonus) / cost })
    }
  }
  // Equal worth: the newer line first, so that the order never depends on the engine's sort.
  return candidates.sort((a, b) => b.worth - a.worth || b.source - a.source || b.line - a.line)
}

/** File listings number their lines; the number is not part of what is quoted. */
const LISTING_NUMBER = /^\s*\d+[→\t:|]/

export const lineKey = (line: string): string => line.replace(LISTING_NUMBER, '').trim()

/** The chosen lines in order, with a mark where something was left out. */
export function renderLines(source: LineSource, chosen: readonly number[]): string {
  const out: string[] = [source.label]
  let previous = -1
  for (const line of chosen) {
    if (line > previous + 1 && source.lines.slice(previous + 1, line).some((skipped) => skipped.trim() !== ''))
      out.push('…')
    out.push(source.lines[line]!)
    previous = line
  }
  if (previous < source.lines.length - 1) out.push('…')
  return out.join('\n')
}
