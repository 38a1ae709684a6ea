/** JSON text of any value; a value that cannot be written (too deep, a cycle) counts as too large. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return UNWRITABLE
  }
}

export const jsonLength = (value: unknown): number => {
  const text = jsonText(value)
  return text === UNWRITABLE ? Number.MAX_SAFE_INTEGER : text.length
}

const UNWRITABLE = '"(a value that is too deep to write as JSON)"'

/** The object or list that a text is; undefined for any other text. */
export function parseStructure(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
