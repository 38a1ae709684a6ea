/** Finds the most that fits: rendering takes a size in characters, the limit is in tokens, and only counting tells. */
export interface Fitted<T> {
  readonly value: T
  readonly text: string
  readonly tokens: number
}

/** Rounds of rendering and counting. Each is linear in the budget, so a view costs a small multiple of its own size. */
const MAX_ROUNDS = 8
const CHARS_PER_TOKEN = 3.2
/** Close enough: another round would cost more time than the tokens are worth. */
const GOOD_ENOUGH = 0.9

/**
 * `render(chars)` gives a value and its full text, whose growing part takes about `chars` characters. Returns the longest
 * rendering within `budget`, or undefined when not even `render(0)` fits.
 */
export function fit<T>(
  render: (chars: number) => { readonly value: T; readonly text: string },
  budget: number,
  countTokens: (text: string) => number,
): Fitted<T> | undefined {
  const smallest = render(0)
  const fixed = countTokens(smallest.text)
  let best: Fitted<T> | undefined = fixed <= budget ? { ...smallest, tokens: fixed } : undefined
  if (best === undefined) return undefined
  const room = budget - fixed
  let chars = Math.floor(room * CHARS_PER_TOKEN)
  let previous = { text: smallest.text, tokens: fixed }
  for (let round = 0; round < MAX_ROUNDS && chars > 0; round++) {
    const candidate = render(chars)
    if (candidate.text === previous.text) {
      // A view of few sizes: the same again says nothing new, unless it is still too large.
      if (previous.tokens <= budget) break
      chars = Math.floor(chars * 0.7)
      continue
    }
    const tokens = countTokens(candidate.text)
    previous = { text: candidate.text, tokens }
    if (tokens <= budget) {
      if (tokens > best.tokens) best = { ...candidate, tokens }
      if (tokens >= fixed + room * GOOD_ENOUGH) break
    }
    const used = Math.max(1, tokens - fixed)
    // Rendering is not linear in its size, so steps up are small and steps down leave a margin.
    chars = Math.floor(chars * Math.min(tokens <= budget ? 1.8 : 0.96, (room / used) * 0.97))
  }
  return best
}
