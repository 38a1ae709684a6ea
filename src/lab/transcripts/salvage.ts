/** A damaged JSON document, closed after the last element that was complete. */
export interface Salvaged {
  readonly value: unknown
  /** Offset of the damage. */
  readonly cutAt: number
}

const CLOSER: Readonly<Record<string, string>> = { '{': '}', '[': ']' }

/**
 * Cuts a broken document behind its last complete array element or object member and closes what is open. One pass, no
 * recursion: a file that breaks off 100,000 levels deep costs no more than its length.
 */
export function salvageJson(text: string): Salvaged | undefined {
  const open: string[] = []
  let cut = 0
  let cutDepth = 0
  let inString = false
  let end = text.length
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string
    if (inString) {
      if (character === '\\') i++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') open.push(character)
    else if (character === '}' || character === ']') {
      const opener = open.pop()
      if (opener === undefined || CLOSER[opener] !== character) {
        end = i
        break
      }
      if (open.length > 0) {
        cut = i + 1
        cutDepth = open.length
      }
    } else if (character === ',' && open.length > 0) {
      cut = i
      cutDepth = open.length
    }
  }
  if (cut === 0) return undefined
  // The brackets open at the cut are the outermost ones: later pushes stand behind it.
  const closers = reopened(text, cut)
    .slice(0, cutDepth)
    .map((opener) => CLOSER[opener])
    .toReversed()
    .join('')
  try {
    return { value: JSON.parse(text.slice(0, cut) + closers) as unknown, cutAt: Math.max(cut, end - 1) }
  } catch {
    return undefined
  }
}

function reopened(text: string, to: number): string[] {
  const open: string[] = []
  let inString = false
  for (let i = 0; i < to; i++) {
    const character = text[i] as string
    if (inString) {
      if (character === '\\') i++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') open.push(character)
    else if (character === '}' || character === ']') open.pop()
  }
  return open
}
