/**
 * Lists of which each is the one before and more, as the very same objects. A conversation is one such line: whoever makes the longer list
 * says so, and nobody has to compare the two item by item, which would cost more with every turn. Nothing is held beyond the life of the lists.
 */
interface Line {
  /** Of the longest list. */
  length: number
}

const lines = new WeakMap<readonly object[], Line>()

/** Whether the shorter of two lists is known to be the beginning of the other. */
export function isOneLine(a: readonly object[], b: readonly object[]): boolean {
  const line = lines.get(a)
  return line !== undefined && line === lines.get(b)
}

/** The longer list begins with the whole of the shorter one. */
export function noteGrowth(short: readonly object[], long: readonly object[]): void {
  const [before, after] = [lines.get(short), lines.get(long)]
  if (after !== undefined) {
    if (before === undefined) lines.set(short, after)
    return
  }
  const line = before ?? { length: short.length }
  // A list that a longer one has grown from already is where two histories part.
  if (line.length !== short.length) return
  line.length = long.length
  lines.set(short, line)
  lines.set(long, line)
}
